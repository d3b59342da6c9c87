//! A rank that has refused a call finds the ticket of the next one (src/engine/refusals.cpp, src/engine/signal/journal.hpp).
//! Numbers and tickets are small. A word of the journal counts 100 for each ticket and 1 for each number.
use crate::orders::{order, Site};
use crate::wait;
use loom::sync::atomic::AtomicU64;
use loom::sync::Arc;
use loom::thread;

struct Rank {
    journal: [AtomicU64; 2],
    last: AtomicU64,
    first: AtomicU64,
    ticket: AtomicU64,
}

impl Rank {
    fn new() -> Rank {
        let word = || AtomicU64::new(0);
        Rank { journal: [word(), word()], last: word(), first: word(), ticket: word() }
    }
    /// Notes a call in the ring's first place and then in the second.
    fn note(&self, place: usize, number: u64, ticket: u64) {
        self.journal[place].store(100 * ticket + number, order(Site::JournalNote));
    }
    fn refuse(&self, number: u64, ticket: u64) {
        self.first.store(number, order(Site::RefusalFirst));
        self.ticket.store(ticket, order(Site::RefusalTicket));
        self.last.store(number, order(Site::RefusalLast));
    }
    fn scan(&self, number: u64) -> Option<u64> {
        let words = self.journal.iter().map(|word| word.load(order(Site::JournalRead)));
        words.filter(|word| word % 100 == number).map(|word| word / 100).min()
    }
    fn ticket_of(&self, number: u64, once: bool) -> Option<u64> {
        let mut ticket = None;
        loop {
            let before = ticket;
            let found = self.scan(number);
            ticket = [ticket, found].into_iter().flatten().min();
            if ticket == before || once {
                return ticket;
            }
        }
    }
    fn is_of(&self, number: u64) -> bool {
        let last = self.last.load(order(Site::RefusalIsOf));
        let first = self.first.load(order(Site::RefusalIsOfFirst));
        last != 0 && first <= number && number <= last
    }
}

fn parts(once: bool) {
    let rank = Arc::new(Rank::new());
    let writer = rank.clone();
    let other = thread::spawn(move || {
        writer.note(0, 2, 20);
        writer.note(1, 2, 21);
    });
    let ticket = rank.ticket_of(2, once);
    assert!(ticket.is_none() || ticket == Some(20), "the ticket of the second part");
    other.join().unwrap();
    wait::complete(true);
}

/// A rank notes a call of two parts.
pub fn call_of_two_parts() {
    parts(false);
}

/// Planted: the ring is read only once, from its begin to its end.
pub fn journal_read_once() {
    parts(true);
}

/// A rank begins in memory where an earlier call 2 was noted, and makes call 2.
pub fn journal_used_again() {
    let rank = Arc::new(Rank::new());
    rank.note(1, 2, 90);
    let progress = Arc::new(AtomicU64::new(1));
    let (writer, passes) = (rank.clone(), progress.clone());
    let other = thread::spawn(move || {
        for word in &writer.journal {
            word.store(0, order(Site::JournalForget));
        }
        passes.store(5, order(Site::ProgressPost));
        writer.note(0, 2, 20);
    });
    if progress.load(order(Site::ProgressReached)) == 5 {
        let ticket = rank.ticket_of(2, false);
        assert!(ticket.is_none() || ticket == Some(20), "the ticket of an earlier communicator's call");
    }
    other.join().unwrap();
    wait::complete(true);
}

/// The first caller gives an order, and then refuses all calls. Its helper may leave if it finds that, and no order.
pub fn last_orders() {
    let rank = Arc::new(Rank::new());
    let (writer, given) = (rank.clone(), Arc::new(AtomicU64::new(0)));
    let gives = given.clone();
    let other = thread::spawn(move || {
        gives.store(1, order(Site::LinePost));
        writer.last.store(u64::MAX, order(Site::RefusalOfAll));
    });
    if rank.last.load(order(Site::RefusesAll)) == u64::MAX {
        assert_eq!(given.load(order(Site::LineReached)), 1, "a helper leaves before its last order");
    }
    other.join().unwrap();
    wait::complete(true);
}

/// A rank refuses call 2, does not make call 3 (which has nothing to do), makes call 4, and refuses call 5. Another
/// rank, which has refused the same calls, asks for the ticket of call 4.
pub fn refused_and_back() {
    let rank = Arc::new(Rank::new());
    let writer = rank.clone();
    let other = thread::spawn(move || {
        writer.refuse(2, 20);
        writer.last.store(3, order(Site::RefusalExtend));
        writer.note(0, 4, 20);
        writer.last.store(0, order(Site::RefusalForget));
        writer.refuse(5, 50);
    });
    let asks = || {
        wait::until(|| rank.last.load(order(Site::RefusalBeyond)) >= 3 || rank.ticket_of(4, false).is_some())?;
        let last = rank.last.load(order(Site::RefusalRead));
        let first = rank.first.load(order(Site::RefusalReadFirst));
        let ticket = rank.ticket.load(order(Site::RefusalReadTicket));
        let refused = (last != 0).then_some((first, ticket));
        match rank.ticket_of(4, false) {
            Some(ticket) => assert_eq!(ticket, 20),
            None => assert_eq!(refused, Some((2, 20))),
        }
        Some(())
    };
    let asked = asks().is_some();
    other.join().unwrap();
    wait::complete(asked);
}

/// A rank has refused call 2 and then call 5. Another rank is in calls that nobody has refused.
pub fn other_calls() {
    let rank = Arc::new(Rank::new());
    let writer = rank.clone();
    let other = thread::spawn(move || {
        writer.refuse(2, 20);
        writer.last.store(0, order(Site::RefusalForget));
        writer.refuse(5, 50);
    });
    assert!(!rank.is_of(1) && !rank.is_of(4), "nobody has refused these");
    other.join().unwrap();
    wait::complete(true);
}
