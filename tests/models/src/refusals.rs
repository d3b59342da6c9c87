//! A rank that has refused a call finds the ticket of the next one (src/engine/refusals.cpp, src/engine/signal/journal.hpp).
//! Numbers and tickets are small: call n has ticket 10 n, and a journal's word is the number.
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
    /// In the ring's first place and then in the second.
    fn note(&self, place: usize, number: u64) {
        self.journal[place].store(number, order(Site::JournalNote));
    }
    fn scan(&self, number: u64) -> u64 {
        let words = self.journal.iter().map(|word| word.load(order(Site::JournalRead)));
        words.filter(|word| *word >= number).min().unwrap_or(0)
    }
    fn first_begun(&self, number: u64, once: bool) -> u64 {
        let mut first = 0;
        loop {
            let before = first;
            let found = self.scan(number);
            if first == 0 || (found != 0 && found < first) {
                first = found;
            }
            if first == before || once {
                return first;
            }
        }
    }
    fn is_of(&self, number: u64) -> bool {
        let last = self.last.load(order(Site::RefusalIsOf));
        let first = self.first.load(order(Site::RefusalIsOfFirst));
        last != 0 && first <= number && number <= last
    }
}

fn ahead(once: bool) {
    let rank = Arc::new(Rank::new());
    let writer = rank.clone();
    let other = thread::spawn(move || {
        writer.note(0, 2);
        writer.note(1, 3);
    });
    let first = rank.first_begun(2, once);
    assert!(first == 0 || first == 2, "call 3 is taken for call 2");
    other.join().unwrap();
    wait::complete(true);
}

/// A rank runs ahead, and notes a call behind the one that is asked for.
pub fn run_ahead() {
    ahead(false);
}

/// Planted: the ring is read from its begin to its end once.
pub fn run_ahead_read_once() {
    ahead(true);
}

/// A rank refuses call 2, makes no call 3 (which has nothing to do), and begins call 4. One asks whether it has refused call 1, of
/// which it was the last to know; another, who has refused call 1, asks for the ticket of call 4.
pub fn refused_and_back() {
    let rank = Arc::new(Rank::new());
    let writer = rank.clone();
    let other = thread::spawn(move || {
        writer.first.store(2, order(Site::RefusalFirst));
        writer.ticket.store(20, order(Site::RefusalTicket));
        writer.last.store(2, order(Site::RefusalLast));
        writer.last.store(3, order(Site::RefusalExtend));
        writer.note(0, 4);
        writer.last.store(0, order(Site::RefusalForget));
    });
    assert!(!rank.is_of(1), "call 1 has not been refused");
    let asks = || {
        wait::until(|| rank.last.load(order(Site::RefusalBeyond)) >= 2 || rank.first_begun(4, false) != 0)?;
        let last = rank.last.load(order(Site::RefusalRead));
        let first = rank.first.load(order(Site::RefusalReadFirst));
        let ticket = rank.ticket.load(order(Site::RefusalReadTicket));
        if last != 0 {
            assert_eq!((first, ticket), (2, 20));
        } else {
            assert_eq!(rank.first_begun(4, false), 4, "neither refused nor begun");
        }
        Some(())
    };
    let asked = asks().is_some();
    other.join().unwrap();
    wait::complete(asked);
}
