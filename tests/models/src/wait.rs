//! How a model waits. It polls for ever or looks only a few times; the latter where several threads wait at once,
//! because loom would let them poll in turns without end. A thread that has come too early then ends, and the execution
//! is not complete, but what the other threads do is still checked. Nothing is lost: a failed look has no effect, so an
//! execution with more of them also occurs as one in which the thread comes later.
use loom::thread;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    static LOOKS: Cell<u32> = const { Cell::new(0) };
}
static COMPLETE: AtomicU64 = AtomicU64::new(0);

/// Sets the number of looks. 0: for ever.
pub fn look(times: u32) {
    LOOKS.with(|looks| looks.set(times));
    COMPLETE.store(0, Ordering::Relaxed);
}

pub fn until(mut ready: impl FnMut() -> bool) -> Option<()> {
    let most = LOOKS.with(|looks| looks.get());
    let mut looks = 0;
    while !ready() {
        looks += 1;
        if looks == most {
            return None;
        }
        thread::yield_now();
    }
    Some(())
}

/// A model calls this in each execution, to tell whether all its threads came to their ends.
pub fn complete(all: bool) {
    COMPLETE.fetch_add(u64::from(all), Ordering::Relaxed);
}

pub fn completed() -> u64 {
    COMPLETE.load(Ordering::Relaxed)
}
