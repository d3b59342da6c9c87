//! Runs every model, then every mutant, prints what was found, and writes a JUnit report: copse-models REPORT.
//! A model must pass in every execution. A mutant (one order relaxed) must fail in one, or be explained in orders.rs.
mod boards;
mod orders;
mod refusals;
mod signal;
mod turns;
mod wait;

use orders::{Relaxing, Site, ACCESSES};
use std::panic::{catch_unwind, set_hook};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Instant;

struct Model {
    name: &'static str,
    family: &'static str,
    run: fn(),
    /// The most unforced thread switches in one execution. None: every execution.
    preemptions: Option<usize>,
    /// The looks of a wait before its thread ends (wait.rs). 0: it never ends.
    looks: u32,
}

#[rustfmt::skip]
const MODELS: &[Model] = &[
    Model { name: "lines", family: "lines", run: signal::lines, preemptions: None, looks: 0 },
    Model { name: "lines to two", family: "lines", run: signal::lines_to_two, preemptions: Some(3), looks: 2 },
    Model { name: "run-ahead", family: "run-ahead", run: signal::run_ahead, preemptions: None, looks: 0 },
    Model { name: "run-ahead of two", family: "run-ahead", run: signal::run_ahead_of_two, preemptions: Some(2), looks: 2 },
    Model { name: "chain", family: "lines", run: signal::chain, preemptions: None, looks: 1 },
    Model { name: "publications", family: "lines", run: signal::publications, preemptions: None, looks: 0 },
    Model { name: "death", family: "death", run: signal::death, preemptions: None, looks: 0 },
    Model { name: "trial", family: "trial", run: signal::trial, preemptions: None, looks: 0 },
    Model { name: "refusals", family: "refusals", run: refusals::refused_and_back, preemptions: Some(2), looks: 1 },
    Model { name: "other calls", family: "refusals", run: refusals::other_calls, preemptions: None, looks: 0 },
    Model { name: "journal", family: "refusals", run: refusals::call_of_two_parts, preemptions: None, looks: 0 },
    Model { name: "journal used again", family: "refusals", run: refusals::journal_used_again, preemptions: None, looks: 0 },
    Model { name: "last orders", family: "refusals", run: refusals::last_orders, preemptions: None, looks: 0 },
    Model { name: "boards", family: "boards", run: boards::two_ranks, preemptions: None, looks: 1 },
    Model { name: "boards of three", family: "boards", run: boards::three_ranks, preemptions: Some(2), looks: 1 },
    Model { name: "boards, one leaves", family: "boards", run: boards::one_leaves, preemptions: Some(3), looks: 0 },
    Model { name: "turns", family: "turns", run: turns::owner_and_helper, preemptions: None, looks: 1 },
    Model { name: "blocking behind", family: "turns", run: turns::blocking_behind_started, preemptions: None, looks: 1 },
    Model { name: "turn after turn", family: "turns", run: turns::turn_after_turn, preemptions: None, looks: 1 },
];

/// Faults other than a relaxed order.
#[rustfmt::skip]
const PLANTED: &[Model] = &[
    Model { name: "nothing acquired", family: "lines", run: signal::lines_not_acquired, preemptions: None, looks: 0 },
    Model { name: "journal read once", family: "refusals", run: refusals::journal_read_once, preemptions: None, looks: 0 },
    Model { name: "given_up first", family: "death", run: signal::death_looked_at_last, preemptions: None, looks: 0 },
];

/// Returns the number of executions, and what went wrong in the last.
fn explore(model: &Model, relaxed: Option<Site>) -> (u64, Option<String>) {
    orders::relax(relaxed);
    wait::look(model.looks);
    let executions = Arc::new(AtomicU64::new(0));
    let counted = executions.clone();
    let run = model.run;
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = model.preemptions;
    builder.max_branches = 10_000;
    let ended = catch_unwind(std::panic::AssertUnwindSafe(|| {
        builder.check(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            run()
        })
    }));
    orders::relax(None);
    let wrong = ended.err().map(|what| match what.downcast::<String>() {
        Ok(text) => *text,
        Err(what) => what.downcast::<&str>().map_or("a panic".into(), |text| text.to_string()),
    });
    let wrong = wrong.or((wait::completed() == 0).then(|| "no execution came to its end".to_string()));
    (executions.load(Ordering::Relaxed), wrong)
}

fn first_line(text: &str) -> &str {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("")
}

fn main() {
    set_hook(Box::new(|_| ())); // mutants panic by design; their messages are caught
    let mut cases: Vec<(String, Option<String>)> = Vec::new();
    for model in MODELS {
        let begin = Instant::now();
        let (executions, wrong) = explore(model, None);
        let verdict = wrong.as_deref().map_or("holds", first_line);
        let bound = model.preemptions.map_or("all".to_string(), |most| format!("up to {most} preemptions"));
        let (whole, seconds) = (wait::completed(), begin.elapsed().as_secs_f32());
        println!("model  {:20} {executions:8} executions ({bound}), {whole} to the end, {seconds:.1} s: {verdict}", model.name);
        cases.push((format!("model {}", model.name), wrong));
    }
    for fault in PLANTED {
        let (executions, wrong) = explore(fault, None);
        let found = wrong.as_deref().map(|text| format!("found in {executions} executions: {}", first_line(text)));
        println!("fault  {:20} {}", fault.name, found.as_deref().unwrap_or("NOT FOUND"));
        cases.push((format!("fault {}", fault.name), found.is_none().then(|| "not found".to_string())));
    }
    for access in ACCESSES {
        match access.relaxing {
            Relaxing::Found(family) => {
                let found = MODELS.iter().filter(|model| model.family == family).find_map(|model| {
                    let (executions, wrong) = explore(model, Some(access.site));
                    wrong.map(|text| format!("found by {} in {executions} executions: {}", model.name, first_line(&text)))
                });
                println!("mutant {:20} {}", format!("{:?}", access.site), found.as_deref().unwrap_or("NOT FOUND"));
                let missed = found.is_none().then(|| "no model finds it".to_string());
                cases.push((format!("mutant {:?}", access.site), missed));
            }
            Relaxing::Harmless(why) => {
                println!("       {:20} not tried: {why}: {} in {}", format!("{:?}", access.site), access.text, access.file)
            }
        }
    }
    let failed = cases.iter().filter(|(_, wrong)| wrong.is_some()).count();
    if let Some(report) = std::env::args().nth(1) {
        let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
        let mut xml = format!("<testsuite name=\"models\" tests=\"{}\" failures=\"{failed}\">\n", cases.len());
        for (name, wrong) in &cases {
            let failure = wrong.as_deref().map_or(String::new(), |w| format!("<failure message=\"{}\"/>", escaped(w)));
            xml += &format!("<testcase name=\"{}\">{failure}</testcase>\n", escaped(name));
        }
        std::fs::write(&report, xml + "</testsuite>\n").expect("the report can be written");
    }
    std::process::exit(if failed == 0 { 0 } else { 1 });
}
