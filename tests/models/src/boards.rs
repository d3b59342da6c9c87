//! The boards on which ranks meet (src/communicator/shared_bootstrap.cpp, MemoryBootstrap).
use crate::orders::{order, Site};
use crate::wait;
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicBool, AtomicU64};
use loom::sync::Arc;
use loom::thread;

struct Board {
    posted: AtomicU64,
    read: AtomicU64,
    left: AtomicBool,
    pinned: UnsafeCell<u64>,
}

unsafe impl Sync for Board {}
unsafe impl Send for Board {}

struct Bootstrap {
    boards: Arc<Vec<Board>>,
    rank: usize,
    round: u64,
}

impl Bootstrap {
    /// wait_all without its timeout. False if a rank has left that will not come to the round. None: see wait.rs.
    fn wait_all(&self, word: fn(&Board) -> &AtomicU64, round: u64) -> Option<bool> {
        for board in self.boards.iter() {
            let there = || word(board).load(order(Site::BoardWait)) >= round;
            let mut gone = false;
            wait::until(|| {
                there() || {
                    gone = board.left.load(order(Site::BoardLeft));
                    gone
                }
            })?;
            if gone && !there() {
                return Some(false);
            }
        }
        Some(true)
    }

    fn allgather(&mut self, mine: u64) -> Option<Result<Vec<u64>, ()>> {
        self.round += 1;
        let board = &self.boards[self.rank];
        if !self.wait_all(|board| &board.read, self.round - 1)? {
            return Some(Err(()));
        }
        board.pinned.with_mut(|at| unsafe { *at = mine });
        board.posted.store(self.round, order(Site::BoardPost));
        if !self.wait_all(|board| &board.posted, self.round)? {
            return Some(Err(()));
        }
        let all = self.boards.iter().map(|board| board.pinned.with(|at| unsafe { *at })).collect();
        board.read.store(self.round, order(Site::BoardRead));
        Some(Ok(all))
    }
}

impl Bootstrap {
    fn leave(self) {
        self.boards[self.rank].left.store(true, order(Site::BoardLeave));
    }
}

fn boards(ranks: usize) -> Arc<Vec<Board>> {
    let board = || Board {
        posted: AtomicU64::new(0),
        read: AtomicU64::new(0),
        left: AtomicBool::new(false),
        pinned: UnsafeCell::new(0),
    };
    Arc::new((0..ranks).map(|_| board()).collect())
}

/// All ranks gather `rounds` times and then leave. Every round succeeds, and each rank has what all said in that round.
fn gather(ranks: usize, rounds: u64) {
    let boards = boards(ranks);
    let play = move |rank: usize, boards: Arc<Vec<Board>>| {
        let mut bootstrap = Bootstrap { boards, rank, round: 0 };
        for round in 1..=rounds {
            let all = bootstrap.allgather(10 * round + rank as u64)?;
            let expected: Vec<u64> = (0..ranks as u64).map(|other| 10 * round + other).collect();
            assert_eq!(all, Ok(expected), "a round that all came to");
        }
        bootstrap.leave();
        Some(())
    };
    let others: Vec<_> = (1..ranks)
        .map(|rank| {
            let boards = boards.clone();
            thread::spawn(move || play(rank, boards))
        })
        .collect();
    let played = play(0, boards).is_some();
    let ended = others.into_iter().filter_map(|other| other.join().unwrap()).count();
    wait::complete(played && ended == ranks - 1);
}

pub fn two_ranks() {
    gather(2, 2);
}

pub fn three_ranks() {
    gather(3, 1);
}

/// One rank comes to the first round and leaves. The other's second round fails, and it does not wait for ever.
pub fn one_leaves() {
    let boards = boards(2);
    let theirs = boards.clone();
    let other = thread::spawn(move || {
        let mut bootstrap = Bootstrap { boards: theirs, rank: 1, round: 0 };
        assert!(bootstrap.allgather(1)?.is_ok());
        bootstrap.leave();
        Some(())
    });
    let mut bootstrap = Bootstrap { boards, rank: 0, round: 0 };
    let mut stays = || {
        assert_eq!(bootstrap.allgather(0)?, Ok(vec![0, 1]));
        assert_eq!(bootstrap.allgather(2)?, Err(()));
        Some(())
    };
    let stayed = stays().is_some();
    wait::complete(other.join().unwrap().is_some() && stayed);
}
