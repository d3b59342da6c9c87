//! How a model waits: it polls for ever, or (where several wait at once, and loom would let them poll in turns without end) it
//! looks a few times. Then a thread that has come too early ends there, with it the execution's claim to be complete; what the
//! others do is still checked. Nothing is lost: a look in vain has no effect, so that an execution with more of them is also
//! met as one in which the thread comes later.
use loom::thread;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    static LOOKS: Cell<u32> = const { Cell::new(0) };
}
static COMPLETE: AtomicU64 = AtomicU64::new(0);

/// 0: for ever.
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

/// To be told by a model in each execution in which all its threads came to their ends.
pub fn complete(all: bool) {
    COMPLETE.fetch_add(u64::from(all), Ordering::Relaxed);
}

pub fn completed() -> u64 {
    COMPLETE.load(Ordering::Relaxed)
}
