//! The turns of a communicator that several threads move on (src/communicator/progress.cpp), and the end of a started
//! call.
use crate::orders::{order, Site};
use crate::wait;
use loom::cell::UnsafeCell;
use loom::sync::atomic::AtomicBool;
use loom::sync::{Arc, Mutex};
use loom::thread;

struct Task {
    taken: AtomicBool,
    under_way: AtomicBool,
    over: AtomicBool,           // of the job
    steps: UnsafeCell<u64>,     // the executor; belongs to whoever has the turn, or to the owner if nothing is under way
    outcome: UnsafeCell<u64>,   // of the job; valid once the job is over
    listed: Mutex<bool>,        // Progress::tasks_
}

unsafe impl Sync for Task {}
unsafe impl Send for Task {}

const STEPS: u64 = 2;

impl Task {
    fn try_take(&self) -> bool {
        !self.taken.swap(true, order(Site::TurnTake))
    }
    fn under_way(&self) -> bool {
        self.under_way.load(order(Site::UnderWayLoad))
    }
    fn over(&self) -> bool {
        self.over.load(order(Site::OverLoad))
    }

    /// Takes a step of the job. Returns true if nothing is left.
    fn go_on(&self) -> bool {
        let now = self.steps.with_mut(|at| unsafe {
            *at += 1;
            *at
        });
        if now < STEPS || self.over.load(std::sync::atomic::Ordering::Relaxed) {
            return now >= STEPS;
        }
        self.outcome.with_mut(|at| unsafe { *at = 7 });
        self.over.store(true, order(Site::OverStore));
        true
    }

    fn end_turn(&self, over: bool) {
        if self.under_way() == over {
            let mut listed = self.listed.lock().unwrap();
            *listed = !over;
            self.under_way.store(!over, order(Site::UnderWayStore));
        }
        self.taken.store(false, order(Site::TurnEnd));
    }

    fn give(&self) -> Option<()> {
        wait::until(|| self.try_take())?;
        self.steps.with_mut(|at| unsafe { *at = 0 });
        self.over.store(false, order(Site::OverReset));
        let over = self.go_on();
        self.end_turn(over);
        Some(())
    }

    fn sweep(&self) {
        let mine = {
            let listed = self.listed.lock().unwrap();
            *listed && self.try_take()
        };
        if mine {
            let over = self.go_on();
            self.end_turn(over);
        }
    }

    fn advance(&self) {
        if self.under_way() && self.try_take() {
            let over = self.go_on();
            self.end_turn(over);
        }
    }
}

fn task() -> Arc<Task> {
    Arc::new(Task {
        taken: AtomicBool::new(false),
        under_way: AtomicBool::new(false),
        over: AtomicBool::new(true),
        steps: UnsafeCell::new(STEPS),
        outcome: UnsafeCell::new(0),
        listed: Mutex::new(false),
    })
}

/// One thread starts a call, and another helps. Then the first, which waits, uses the executor itself (a blocking
/// call).
pub fn owner_and_helper() {
    let task = task();
    let helped = task.clone();
    let helper = thread::spawn(move || helped.sweep());
    let own = || {
        task.give()?;
        wait::until(|| {
            task.advance();
            task.over()
        })?;
        assert_eq!(task.outcome.with(|at| unsafe { *at }), 7);
        wait::until(|| !task.under_way())?;
        task.steps.with_mut(|at| unsafe { *at = 100 }); // needs no turn, because nothing is under way
        Some(())
    };
    let owned = own().is_some();
    helper.join().unwrap();
    wait::complete(owned);
}

/// A blocking call after a started one: Communicator::State::finish_started, then the executor without a turn.
pub fn blocking_behind_started() {
    let task = task();
    let helped = task.clone();
    let helper = thread::spawn(move || helped.sweep());
    let own = || {
        task.give()?;
        wait::until(|| {
            task.advance();
            !task.under_way()
        })?;
        task.steps.with_mut(|at| unsafe { *at = 100 });
        Some(())
    };
    let owned = own().is_some();
    helper.join().unwrap();
    wait::complete(owned);
}

/// Two calls, one after the other, with a helper in between. The second begins with a turn taken over from the helper.
pub fn turn_after_turn() {
    let task = task();
    let helped = task.clone();
    let helper = thread::spawn(move || helped.sweep());
    let owned = task.give().and_then(|_| task.give()).is_some();
    helper.join().unwrap();
    wait::complete(owned);
}
