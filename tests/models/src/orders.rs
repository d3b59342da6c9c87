//! The accesses on whose orders the protocol rests. Each quotes its line of the C++ source; tests/tidy checks that both
//! agree. A model asks here for the order of an access. A mutant is a run in which one of the orders is relaxed.
use std::cell::Cell;
use std::sync::atomic::Ordering::{self, Acquire, Relaxed, Release};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Site {
    LinePost,
    ProgressPost,
    LineReached,
    ProgressReached,
    LineAge,
    LineForget,
    AllPassed,
    GivenUpStore,
    GivenUpLoad,
    ProcessorTell,
    ProcessorLook,
    JournalNote,
    JournalRead,
    RefusalFirst,
    RefusalTicket,
    RefusalLast,
    RefusalOfAll,
    RefusalOwn,
    RefusalExtend,
    RefusalForget,
    RefusalIsOf,
    RefusalIsOfFirst,
    RefusalBeyond,
    RefusalRead,
    RefusalReadFirst,
    RefusalReadTicket,
    PledgeStore,
    BoardCome,
    BoardLeave,
    BoardPost,
    BoardRead,
    BoardWait,
    BoardLeft,
    BoardProcess,
    MeetingProcess,
    MeetingLeft,
    TrialTell,
    TrialHear,
    TurnTake,
    TurnEnd,
    UnderWayStore,
    UnderWayLoad,
    OverStore,
    OverLoad,
    OverReset,
}

/// What happens to the protocol if the access is relaxed.
pub enum Relaxing {
    /// This model finds it.
    Found(&'static str),
    /// It is harmless for this reason (or already relaxed).
    Harmless(&'static str),
}
use Relaxing::{Found, Harmless};

pub struct Access {
    pub site: Site,
    pub file: &'static str,
    pub text: &'static str,
    pub order: Ordering,
    pub relaxing: Relaxing,
}

#[rustfmt::skip]
pub const ACCESSES: &[Access] = &[
    Access { site: Site::LinePost, file: "src/engine/signal/line.hpp", order: Release, relaxing: Found("lines"),
        text: "word.store(plan::word_of(ticket, portion), std::memory_order_release);" },
    Access { site: Site::ProgressPost, file: "src/engine/signal/line.hpp", order: Release, relaxing: Found("lines"),
        text: "word.store(ticket + 1, std::memory_order_release);" },
    Access { site: Site::LineReached, file: "src/engine/signal/line.hpp", order: Acquire, relaxing: Found("lines"),
        text: "word.load(std::memory_order_acquire)" },
    Access { site: Site::ProgressReached, file: "src/engine/signal/line.hpp", order: Acquire, relaxing: Found("lines"),
        text: "word.load(std::memory_order_acquire)" },
    Access { site: Site::LineAge, file: "src/engine/signal/line.hpp", order: Relaxed,
        relaxing: Harmless("relaxed already: its owner alone writes the word"),
        text: "word.load(std::memory_order_relaxed)" },
    Access { site: Site::LineForget, file: "src/engine/signals.cpp", order: Relaxed,
        relaxing: Harmless("relaxed already: nobody waits for what the line held, and its next post comes after in its word's order"),
        text: "line.word.store(0, std::memory_order_relaxed)" },
    Access { site: Site::AllPassed, file: "src/engine/signals.cpp", order: Acquire, relaxing: Found("run-ahead"),
        text: "here_.segment.progress(local).word.load(std::memory_order_acquire)" },
    Access { site: Site::GivenUpStore, file: "src/engine/signals.cpp", order: Relaxed,
        relaxing: Harmless("relaxed already: the end of a process orders it, and no data follows it (death)"),
        text: "store(culprit + 1, std::memory_order_relaxed)" },
    Access { site: Site::GivenUpLoad, file: "src/engine/signals.cpp", order: Relaxed,
        relaxing: Harmless("relaxed already: read after the look at the process (death)"),
        text: "here_.segment.given_up(local).load(std::memory_order_relaxed)" },
    Access { site: Site::ProcessorTell, file: "src/engine/signals.cpp", order: Relaxed,
        relaxing: Harmless("relaxed already: an old number costs a yield or a spin, and no data follows it"),
        text: "store(processor, std::memory_order_relaxed)" },
    Access { site: Site::ProcessorLook, file: "src/engine/signals.cpp", order: Relaxed,
        relaxing: Harmless("relaxed already: an old number costs a yield or a spin, and no data follows it"),
        text: "here_.segment.processor(local).load(std::memory_order_relaxed)" },
    Access { site: Site::JournalNote, file: "src/engine/refusals.hpp", order: Release, relaxing: Found("refusals"),
        text: "store(begun_word(number, ticket), std::memory_order_release)" },
    Access { site: Site::JournalRead, file: "src/engine/refusals.cpp", order: Acquire, relaxing: Found("refusals"),
        text: "journal[i].load(std::memory_order_acquire)" },
    Access { site: Site::RefusalFirst, file: "src/engine/refusals.cpp", order: Release, relaxing: Found("refusals"),
        text: "mine.first.store(number, std::memory_order_release)" },
    Access { site: Site::RefusalTicket, file: "src/engine/refusals.cpp", order: Release, relaxing: Found("refusals"),
        text: "mine.ticket.store(ticket, std::memory_order_release)" },
    Access { site: Site::RefusalLast, file: "src/engine/refusals.cpp", order: Release, relaxing: Found("refusals"),
        text: "mine.last.store(number, std::memory_order_release)" },
    Access { site: Site::RefusalOfAll, file: "src/engine/refusals.cpp", order: Release,
        relaxing: Harmless("`first` has been handed on before"),
        text: "own().last.store(UINT64_MAX, std::memory_order_release)" },
    Access { site: Site::RefusalOwn, file: "src/engine/refusals.cpp", order: Relaxed,
        relaxing: Harmless("relaxed already: its owner alone writes the word"),
        text: "mine.last.load(std::memory_order_relaxed)" },
    Access { site: Site::RefusalExtend, file: "src/engine/refusals.cpp", order: Release, relaxing: Found("refusals"),
        text: "mine.last.store(number - 1, std::memory_order_release)" },
    Access { site: Site::RefusalForget, file: "src/engine/refusals.cpp", order: Release, relaxing: Found("refusals"),
        text: "own().last.store(0, std::memory_order_release)" },
    Access { site: Site::RefusalIsOf, file: "src/engine/signal/journal.hpp", order: Acquire, relaxing: Found("refusals"),
        text: "last.load(std::memory_order_acquire)" },
    Access { site: Site::RefusalIsOfFirst, file: "src/engine/signal/journal.hpp", order: Relaxed,
        relaxing: Harmless("relaxed already: `last` hands it on"),
        text: "first.load(std::memory_order_relaxed)" },
    Access { site: Site::RefusalBeyond, file: "src/engine/refusals.cpp", order: Acquire,
        relaxing: Harmless("nothing is read after it that is not read again after RefusalRead"),
        text: "here_.segment.refusal(local).last.load(std::memory_order_acquire)" },
    Access { site: Site::RefusalRead, file: "src/engine/refusals.cpp", order: Acquire, relaxing: Found("refusals"),
        text: "theirs.last.load(std::memory_order_acquire)" },
    Access { site: Site::RefusalReadFirst, file: "src/engine/refusals.cpp", order: Acquire, relaxing: Found("refusals"),
        text: "theirs.first.load(std::memory_order_acquire)" },
    Access { site: Site::RefusalReadTicket, file: "src/engine/refusals.cpp", order: Acquire, relaxing: Found("refusals"),
        text: "theirs.ticket.load(std::memory_order_acquire)" },
    Access { site: Site::PledgeStore, file: "src/communicator/founding.cpp", order: Relaxed,
        relaxing: Harmless("relaxed already: as the executor's (death)"),
        text: "given_up_.store(rank_ + 1, std::memory_order_relaxed)" },
    Access { site: Site::BoardCome, file: "src/communicator/shared_bootstrap.cpp", order: Relaxed,
        relaxing: Harmless("relaxed already: a number that nothing hangs on; 0 means not known"),
        text: "boards_[rank_].process.store(word_of(engine::this_process()), std::memory_order_relaxed)" },
    Access { site: Site::BoardLeave, file: "src/communicator/shared_bootstrap.cpp", order: Release, relaxing: Found("boards"),
        text: "boards_[rank_].left.store(true, std::memory_order_release)" },
    Access { site: Site::BoardPost, file: "src/communicator/shared_bootstrap.cpp", order: Release, relaxing: Found("boards"),
        text: "board.posted.store(round_, std::memory_order_release)" },
    Access { site: Site::BoardRead, file: "src/communicator/shared_bootstrap.cpp", order: Release, relaxing: Found("boards"),
        text: "board.read.store(round_, std::memory_order_release)" },
    Access { site: Site::BoardWait, file: "src/communicator/shared_bootstrap.cpp", order: Acquire, relaxing: Found("boards"),
        text: "(boards_[other].*word).load(std::memory_order_acquire)" },
    Access { site: Site::BoardLeft, file: "src/communicator/shared_bootstrap.cpp", order: Acquire, relaxing: Found("boards"),
        text: "board.left.load(std::memory_order_acquire)" },
    Access { site: Site::BoardProcess, file: "src/communicator/shared_bootstrap.cpp", order: Relaxed,
        relaxing: Harmless("relaxed already: a number that nothing hangs on"),
        text: "board.process.load(std::memory_order_relaxed)" },
    Access { site: Site::MeetingProcess, file: "src/communicator/shared_bootstrap.cpp", order: Relaxed,
        relaxing: Harmless("relaxed already: who comes does so under the meeting's lock"),
        text: "board.process.load(std::memory_order_relaxed)" },
    Access { site: Site::MeetingLeft, file: "src/communicator/shared_bootstrap.cpp", order: Acquire,
        relaxing: Harmless("nothing is read after it; the flag alone decides"),
        text: "boards[rank].left.load(std::memory_order_acquire)" },
    Access { site: Site::TrialTell, file: "src/engine/trial.cpp", order: Release, relaxing: Found("trial"),
        text: "std::atomic_ref(mine_.told).store(++told_, std::memory_order_release)" },
    Access { site: Site::TrialHear, file: "src/engine/trial.cpp", order: Acquire, relaxing: Found("trial"),
        text: "std::atomic_ref(theirs_.told).load(std::memory_order_acquire)" },
    Access { site: Site::TurnTake, file: "src/communicator/progress.hpp", order: Acquire, relaxing: Found("turns"),
        text: "taken_.exchange(true, std::memory_order_acquire)" },
    Access { site: Site::TurnEnd, file: "src/communicator/progress.hpp", order: Release, relaxing: Found("turns"),
        text: "task.taken_.store(false, std::memory_order_release)" },
    Access { site: Site::UnderWayStore, file: "src/communicator/progress.cpp", order: Release, relaxing: Found("turns"),
        text: "task.under_way_.store(!over, std::memory_order_release)" },
    Access { site: Site::UnderWayLoad, file: "src/communicator/progress.hpp", order: Acquire, relaxing: Found("turns"),
        text: "under_way_.load(std::memory_order_acquire)" },
    Access { site: Site::OverStore, file: "src/communicator/calls.cpp", order: Release, relaxing: Found("turns"),
        text: "job.over.store(true, std::memory_order_release)" },
    Access { site: Site::OverLoad, file: "src/communicator/calls.cpp", order: Acquire, relaxing: Found("turns"),
        text: "job.over.load(std::memory_order_acquire)" },
    Access { site: Site::OverReset, file: "src/communicator/calls.cpp", order: Relaxed,
        relaxing: Harmless("relaxed already: no other thread knows the job yet but by the turn"),
        text: "job->over.store(false, std::memory_order_relaxed)" },
];

thread_local! {
    static RELAXED: Cell<Option<Site>> = const { Cell::new(None) };
}

pub fn relax(site: Option<Site>) {
    RELAXED.with(|relaxed| relaxed.set(site));
}

/// The order of an access in this run.
pub fn order(site: Site) -> Ordering {
    if RELAXED.with(|relaxed| relaxed.get()) == Some(site) {
        return Relaxed;
    }
    let access = ACCESSES.iter().find(|access| access.site == site);
    access.expect("every site is in the table").order
}
