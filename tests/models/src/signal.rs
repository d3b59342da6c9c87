//! Lines, slots, published addresses, progress words, and the news of a rank's end (src/engine/signal,
//! src/engine/executor.cpp).
use crate::orders::{order, Site};
use crate::wait;
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use loom::sync::Arc;
use loom::thread;

/// A word that holds a ticket (BasicLine::word, as plan::word_of counts). It belongs to a line or to a rank's progress.
struct Word {
    word: AtomicU64,
    post: Site,
    reached: Site,
}

impl Word {
    fn line() -> Word {
        Word { word: AtomicU64::new(0), post: Site::LinePost, reached: Site::LineReached }
    }
    fn progress() -> Word {
        Word { word: AtomicU64::new(0), post: Site::ProgressPost, reached: Site::ProgressReached }
    }
    fn post(&self, ticket: u64) {
        self.word.store(ticket + 1, order(self.post));
    }
    /// Only its own ticket reaches a line. Any later ticket passes progress.
    fn reached(&self, ticket: u64) -> bool {
        let word = self.word.load(order(self.reached));
        if self.reached == Site::LineReached {
            word == ticket + 1
        } else {
            word > ticket
        }
    }
    fn wait(&self, ticket: u64) -> Option<()> {
        wait::until(|| self.reached(ticket))
    }
}

/// Plain memory. loom reports two unordered accesses if one of them is a write.
struct Memory(UnsafeCell<u64>);

unsafe impl Sync for Memory {}
unsafe impl Send for Memory {}

impl Memory {
    fn new() -> Memory {
        Memory(UnsafeCell::new(u64::MAX))
    }
    fn write(&self, value: u64) {
        self.0.with_mut(|at| unsafe { *at = value });
    }
    fn read(&self) -> u64 {
        self.0.with(|at| unsafe { *at })
    }
}

/// A rank: a ring of lines and slots of depth 1, so that every ticket reuses them, and its progress word.
struct Rank {
    line: Word,
    payload: Memory,
    slot: Memory,
    buffer: Memory,
    progress: Word,
}

fn ranks(count: usize) -> Arc<Vec<Rank>> {
    let rank = || Rank {
        line: Word::line(),
        payload: Memory::new(),
        slot: Memory::new(),
        buffer: Memory::new(),
        progress: Word::progress(),
    };
    Arc::new((0..count).map(|_| rank()).collect())
}

fn reader(ranks: Arc<Vec<Rank>>, me: usize, tickets: u64) -> impl FnOnce() -> Option<()> {
    move || {
        for ticket in 0..tickets {
            ranks[0].line.wait(ticket)?; // await
            assert_eq!(ranks[0].payload.read(), ticket);
            assert_eq!(ranks[0].slot.read(), ticket);
            ranks[me].progress.post(ticket); // done
        }
        Some(())
    }
}

type Acquire = fn(&[Rank], u64) -> Option<()>;

fn write(ranks: &[Rank], tickets: u64, acquire: Acquire) -> Option<()> {
    for ticket in 0..tickets {
        if ticket > 0 {
            acquire(&ranks[1..], ticket - 1)?;
        }
        ranks[0].slot.write(ticket);
        ranks[0].payload.write(ticket);
        ranks[0].line.post(ticket);
    }
    Some(())
}

/// acquire, copy to slot and line, post; await, copy, done. Does this for `tickets` tickets through a ring of one.
fn ring(readers: usize, tickets: u64, acquire: Acquire) {
    let ranks = ranks(readers + 1);
    let others: Vec<_> = (1..=readers).map(|me| thread::spawn(reader(ranks.clone(), me, tickets))).collect();
    let written = write(&ranks, tickets, acquire).is_some();
    let read = others.into_iter().filter_map(|other| other.join().unwrap()).count();
    wait::complete(written && read == readers);
}

/// Signals::acquire_long for this call's own use: the readers are known, and are waited for one after the other.
fn wait_for_readers(readers: &[Rank], previous: u64) -> Option<()> {
    readers.iter().try_for_each(|reader| reader.progress.wait(previous))
}

/// Signals::all_passed: the least of all progress words decides.
fn wait_for_all(readers: &[Rank], previous: u64) -> Option<()> {
    let least = || readers.iter().map(|r| r.progress.word.load(order(Site::AllPassed))).min().unwrap();
    wait::until(|| least() > previous)
}

pub fn lines() {
    ring(1, 3, wait_for_readers);
}

pub fn lines_to_two() {
    ring(2, 2, wait_for_readers);
}

/// Planted: a writer that waits for nobody.
pub fn lines_not_acquired() {
    ring(1, 2, |_, _| Some(()));
}

pub fn run_ahead() {
    ring(1, 3, wait_for_all);
}

pub fn run_ahead_of_two() {
    ring(2, 2, wait_for_all);
}

/// A value passes through a rank in between. 0 gives to 1, and 1 to 2, which then reads 0's buffer too.
pub fn chain() {
    let ranks = ranks(3);
    let (first, second) = (ranks.clone(), ranks.clone());
    let one = thread::spawn(move || {
        first[0].line.wait(0)?;
        first[1].payload.write(first[0].payload.read() + 1);
        first[1].line.post(0);
        Some(())
    });
    let two = thread::spawn(move || {
        second[1].line.wait(0)?;
        assert_eq!(second[1].payload.read(), 2);
        assert_eq!(second[0].buffer.read(), 5);
        second[2].progress.post(0);
        Some(())
    });
    ranks[0].buffer.write(5);
    ranks[0].payload.write(1);
    ranks[0].line.post(0);
    let free = ranks[2].progress.wait(0).is_some();
    if free {
        ranks[0].buffer.write(6); // the call is over, and the buffer belongs to the program again
    }
    let others = [one.join().unwrap(), two.join().unwrap()];
    wait::complete(free && others.iter().all(Option::is_some));
}

/// publish; the taker reads the giver's buffer (get) and writes another one (put); done; await_done. The buffers are
/// then free.
pub fn publications() {
    let ranks = ranks(2);
    let other = ranks.clone();
    let taker = thread::spawn(move || {
        for ticket in 0..2 {
            other[0].line.wait(ticket)?;
            assert_eq!(other[0].payload.read(), 77); // the address
            assert_eq!(other[0].buffer.read(), ticket);
            other[0].slot.write(10 + ticket); // stands for the giver's other buffer
            other[1].progress.post(ticket);
        }
        Some(())
    });
    let give = || {
        for ticket in 0..2 {
            ranks[0].buffer.write(ticket);
            if ticket > 0 {
                ranks[1].progress.wait(ticket - 1)?;
            }
            ranks[0].payload.write(77);
            ranks[0].line.post(ticket);
            ranks[1].progress.wait(ticket)?; // await_done
            assert_eq!(ranks[0].slot.read(), 10 + ticket);
        }
        Some(())
    };
    let given = give().is_some();
    wait::complete(taker.join().unwrap().is_some() && given);
}

/// A rank posts, gives up and ends, while another waits for its next ticket. `ended` stands for an order of the
/// kernel's, not of Copse's: the end of a process comes after all that it did.
pub fn death() {
    ends(false);
}

/// Planted: looks at given_up first and then at the process.
pub fn death_looked_at_last() {
    ends(true);
}

fn ends(swapped: bool) {
    struct End {
        rank: Vec<Rank>,
        given_up: AtomicI32,
        ended: AtomicBool,
    }
    for posts in [false, true] {
        let all = Arc::new(End {
            rank: vec![Rank {
                line: Word::line(),
                payload: Memory::new(),
                slot: Memory::new(),
                buffer: Memory::new(),
                progress: Word::progress(),
            }],
            given_up: AtomicI32::new(0),
            ended: AtomicBool::new(false),
        });
        let dying = all.clone();
        let other = thread::spawn(move || {
            if posts {
                dying.rank[0].payload.write(3);
                dying.rank[0].line.post(0);
            }
            dying.given_up.store(3, order(Site::GivenUpStore)); // it says that rank 2 was lost
            dying.ended.store(true, Ordering::Release);
        });
        let line = &all.rank[0].line;
        // Signals::wait_long: bad_news() looks at the process first and then at given_up. Then it reads the word once
        // more.
        let outcome = loop {
            if line.reached(0) {
                break 0;
            }
            let culprit = |all: &End| all.given_up.load(order(Site::GivenUpLoad));
            let early = if swapped { culprit(&all) } else { 0 };
            let ended = all.ended.load(Ordering::Acquire);
            let culprit = if swapped { early } else { culprit(&all) };
            if culprit == 0 && !ended {
                thread::yield_now();
                continue;
            }
            if ended {
                assert_eq!(culprit, 3, "it is taken for the one whose fault it was");
            }
            break if line.reached(0) { 0 } else { culprit };
        };
        if outcome == 0 {
            assert_eq!(all.rank[0].payload.read(), 3);
        } else {
            assert_eq!(outcome, 3);
        }
        other.join().unwrap();
        wait::complete(true);
    }
}

/// The two words of the trial (src/engine/trial.cpp). Each side tells what it has written and reads what the other has.
pub fn trial() {
    struct Side {
        told: AtomicU64,
        bytes: Memory,
    }
    let side = || Side { told: AtomicU64::new(0), bytes: Memory::new() };
    let sides = Arc::new([side(), side()]);
    fn play(sides: &[Side; 2], me: usize) -> Option<()> {
        let hear = |number| wait::until(|| sides[1 - me].told.load(order(Site::TrialHear)) == number);
        if me == 0 {
            sides[0].bytes.write(1);
            sides[0].told.store(1, order(Site::TrialTell));
            hear(1)?;
            sides[0].bytes.write(2); // the other has read the first
        } else {
            hear(1)?;
            assert_eq!(sides[0].bytes.read(), 1);
            sides[1].told.store(1, order(Site::TrialTell));
        }
        Some(())
    }
    let others = sides.clone();
    let other = thread::spawn(move || play(&others, 1));
    let played = play(&sides, 0).is_some();
    wait::complete(other.join().unwrap().is_some() && played);
}
