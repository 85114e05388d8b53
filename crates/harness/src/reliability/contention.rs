//! Ten writers, some readers and a writer that is killed, all at one database at once. Each row of each writer is there afterwards, once; the victim's
//! are all there or none; readers never see a table that is not whole.

use crate::reliability::Error;
use crate::reliability::draws::Draws;
use crate::reliability::files::{self, Entry, Files};
use crate::reliability::findings::Tally;
use crate::reliability::program::{Ended, Limits, Line, Outcome, Program, run_within};
use nix::sys::signal::Signal;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const WRITERS: usize = 10;
/// Rounds in one database, before the next begins with a new one.
const ROUNDS: u64 = 20;
const HEADER: &str =
    "Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats,Average Duration(us)\n";
const TABLES: [&str; 2] = ["Add", "Sort"];

const READERS: [&str; 3] = [
    "query-database --database-path db --manifest q.jsonl --json -",
    "check-database --database-path db --json -",
    "diff-databases db other --json -",
];

fn row(shape: usize) -> String {
    format!("{shape};{shape},FLOAT;FLOAT,ND;ND,{shape},FLOAT,ND,2.0\n")
}

fn question(shape: usize) -> String {
    format!(
        "{{\"id\": {shape}, \"query\": {{\"op\": \"aten.add.Tensor\", \"args\": [{{\"shape\": [{shape}], \"dtype\": \"float32\"}}, {{\"shape\": [{shape}], \"dtype\": \"float32\"}}]}}}}\n"
    )
}

/// How a writer brings its shape, and which tables then have it.
fn writer(at: usize, shape: usize) -> (Line, Files, &'static [&'static str]) {
    let text = |path: String, text: String| (PathBuf::from(path), Entry::File(text.into_bytes()));
    match at % 3 {
        0 => {
            let tables =
                TABLES.map(|table| text(format!("from-{shape}/{table}.csv"), format!("{HEADER}{}", row(shape))));
            (Line::of(&format!("merge-databases db from-{shape}")), tables.into(), &TABLES)
        }
        1 => {
            let header = "OP Type,Task Type,Task Duration(us),Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types\n";
            let rows =
                TABLES.map(|table| format!("{table},AI_CORE,5,{shape};{shape},FLOAT;FLOAT,ND;ND,{shape},FLOAT\n"));
            let summary = text(
                format!("from-{shape}/mindstudio_profiler_output/op_summary_1.csv"),
                format!("{header}{}", rows.concat()),
            );
            (
                Line::of(&format!("start-microbench --prof-path from-{shape} --database-path db")),
                [summary].into(),
                &TABLES,
            )
        }
        _ => {
            let line = format!("audit-coverage --database-path db --manifest from-{shape}.jsonl --suggest 1 --append");
            (Line::of(&line), [text(format!("from-{shape}.jsonl"), question(shape))].into(), &TABLES[..1])
        }
    }
}

fn start(folder: &Path) -> Result<(), Error> {
    let mapping = "operator_mappings: {aten.add.Tensor: {kernel_type: Add}, aten.sort.default: {kernel_type: Sort}}\n";
    let mut world = Files::new();
    let mut put = |path: &str, text: String| world.insert(PathBuf::from(path), Entry::File(text.into_bytes()));
    put("db/op_mapping.yaml", mapping.to_owned());
    put("other/op_mapping.yaml", mapping.to_owned());
    put("q.jsonl", question(4));
    for table in TABLES {
        put(&format!("db/{table}.csv"), format!("{HEADER}{}", row(4)));
        put(&format!("other/{table}.csv"), format!("{HEADER}{}", row(4)));
    }
    files::write(&world, folder)
}

/// How often the shape is in the table.
fn count(folder: &Path, table: &str, shape: usize) -> Result<usize, Error> {
    let text = std::fs::read_to_string(folder.join(format!("db/{table}.csv")))?;
    let wanted = format!("{shape};{shape}");
    let mut reader = csv::ReaderBuilder::new().from_reader(text.as_bytes());
    let mut found = 0;
    for record in reader.records() {
        found += usize::from(record?.get(0) == Some(&wanted));
    }
    Ok(found)
}

/// Rounds from `first` on, all in one database: `ROUNDS` of them, or fewer where `count` ends.
pub fn rounds(program: &Program, seed: u64, first: u64, count: u64, tally: &Tally) -> Result<(), Error> {
    let temporary = TempDir::new()?;
    let folder = temporary.path();
    start(folder)?;
    let mut shapes: Vec<(usize, &[&str])> = Vec::new();
    let mut took = Duration::from_millis(50);
    for number in first..(first + ROUNDS).min(count) {
        let mut draws = Draws::of(seed, number);
        let base = 1000 + usize::try_from(number - first)? * 100;
        let writers: Vec<_> = (0..WRITERS).map(|at| (base + at, writer(at, base + at))).collect();
        let victim_shape = base + 99;
        let victim = writer(draws.below(2), victim_shape);
        for (_, (_, inputs, _)) in &writers {
            files::write(inputs, folder)?;
        }
        files::write(&victim.1, folder)?;
        let signal = *draws.one_of(&[Signal::SIGKILL, Signal::SIGKILL, Signal::SIGTERM]);
        let after = Duration::from_micros(u64::try_from(draws.below(usize::try_from(took.as_micros())?))?);
        let started = Instant::now();
        let limits = Limits { time: Duration::from_secs(60), ..Limits::default() };
        let (written, read, killed) = std::thread::scope(|scope| {
            let run = |line: Line| scope.spawn(move || program.run(&line, folder, limits));
            let written: Vec<_> = writers.iter().map(|(_, (line, ..))| run(line.clone())).collect();
            let read: Vec<_> = READERS.iter().map(|line| run(Line::of(line))).collect();
            let mut command = program.command(&victim.0, folder, &[]);
            command.stdin(Stdio::null());
            let killed = scope.spawn(move || run_within(command, after, signal));
            (ended(written), ended(read), ended(vec![killed]))
        });
        took = started.elapsed();
        for (outcome, (shape, (line, ..))) in written.iter().zip(&writers) {
            if !matches!(outcome, Ok(Outcome { ended: Ended::Exit(0), .. })) {
                tally.found(number, format!("writer of {shape} ({}): {outcome:?}", line.tool()));
            }
        }
        for (outcome, line) in read.iter().zip(READERS) {
            let is_whole = outcome.as_ref().is_ok_and(|outcome| {
                matches!(outcome.ended, Ended::Exit(0 | 3))
                    && serde_json::from_slice::<serde::de::IgnoredAny>(&outcome.stdout).is_ok()
            });
            if !is_whole {
                tally.found(number, format!("{line}: {outcome:?}"));
            }
        }
        tally.count(match killed.first() {
            Some(Ok(Outcome { ended: Ended::Exit(_), .. })) => "victims that ended before",
            _ => "victims that were killed",
        });
        // The next writer finishes what the victim began.
        let healed = program.run(&Line::of("merge-databases db other"), folder, limits)?;
        if healed.ended != Ended::Exit(0) {
            tally.found(number, format!("the next writer: {} {}", healed.ended, healed.stderr.trim()));
        }
        shapes.extend(writers.iter().map(|(shape, (.., tables))| (*shape, *tables)));
        let of_victim = [self::count(folder, "Add", victim_shape)?, self::count(folder, "Sort", victim_shape)?];
        if !matches!(of_victim, [0, 0] | [1, 1]) {
            tally.found(number, format!("rows of the victim ({}): {of_victim:?}", victim.0.tool()));
        }
        // Reports are start-microbench's, and so is what is left among them.
        left_behind(folder, number, |path| !path.starts_with("reports"), tally)?;
        tally.count("rounds");
    }
    let (line, inputs, _) = writer(1, 999);
    files::write(&inputs, folder)?;
    program.run(&line, folder, Limits::default())?;
    left_behind(folder, first, |_| true, tally)?;
    // No round may have lost rows of an earlier one.
    for (shape, tables) in shapes {
        for table in tables {
            let found = self::count(folder, table, shape)?;
            if found != 1 {
                tally.found(first, format!("{table} has the row of shape {shape} {found} times"));
            }
            tally.count("rows that are there once");
        }
    }
    Ok(())
}

fn left_behind(folder: &Path, number: u64, is_looked_at: impl Fn(&Path) -> bool, tally: &Tally) -> Result<(), Error> {
    let left = files::read(&folder.join("db"))?;
    for path in left.keys().filter(|path| files::is_left_over(path) && is_looked_at(path)) {
        tally.found(number, format!("left behind: {}", path.display()));
    }
    Ok(())
}

/// How many rounds share a database.
pub const fn rounds_of_a_database() -> u64 {
    ROUNDS
}

fn ended(threads: Vec<std::thread::ScopedJoinHandle<'_, Result<Outcome, Error>>>) -> Vec<Result<Outcome, Error>> {
    threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err("the harness panicked".into()))).collect()
}
