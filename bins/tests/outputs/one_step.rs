//! All outputs of a run change, or none: one that cannot be written leaves the others, and every table, as they were.

use crate::world::{Files, TestResult, World};
use std::path::Path;

/// Command lines, with the files that they are asked to write.
const CASES: &[(&str, &[&str])] = &[
    (
        "generate-op-comparison --data-dir db --scenarios scenarios.yaml --compute-missing-m6 --output o.json --html o.html --csv o.csv",
        &["o.json", "o.html", "o.csv"],
    ),
    (
        "explain-prediction --tc-trace t.json --prof-trace p.csv --data-dir db --measure-dir rows --json o.json --csv o.csv --html o.html",
        &["o.json", "o.csv", "o.html"],
    ),
    ("cut-forward-pass p.csv --pass 1 --output o.csv --json o.json", &["o.csv", "o.json"]),
    ("query-database --database-path db --manifest q.jsonl --json o.json --csv o.csv", &["o.json", "o.csv"]),
    ("evaluate-database --database-path db --json o.json --html o.html", &["o.json", "o.html"]),
    (
        "audit-coverage --database-path db --manifest q.jsonl --json o.json --csv o.csv --html o.html",
        &["o.json", "o.csv", "o.html"],
    ),
    (
        "audit-coverage --database-path db --manifest further.jsonl --suggest 1 --append --json o.json --csv o.csv",
        &["o.json", "o.csv"],
    ),
    ("diff-databases db grid --json o.json --csv o.csv --html o.html", &["o.json", "o.csv", "o.html"]),
    ("merge-databases db grid --json o.json --conflicts o.csv", &["o.json", "o.csv"]),
    ("parse-kernel-details --profiling-path kd --database-path db --json o.json", &["o.json"]),
    ("start-microbench --prof-path PROF_1 --database-path db --json o.json --html o.html", &["o.json", "o.html"]),
    (
        "generate-comm-microbench --from-results results --output-dir comm --report o.csv --html o.html",
        &["o.csv", "o.html"],
    ),
    (
        "generate-per-shape-comparison --tc-trace t.json --prof-trace p.csv --output o.csv --html o.html",
        &["o.csv", "o.html"],
    ),
    ("generate-shape-grid --database-path grid --rows 3 --seed 1 --json o.json", &["o.json"]),
    (
        "op-replay Add --csv db/Add.csv --invalid-rows drop --backend native --repeat-count 1 --output out --results o.json --dump-outputs d.json",
        &["o.json", "d.json"],
    ),
    (
        "run-all-op --database-path db --ops Add --invalid-rows drop --backend native --repeat-count 1 --output out --status-file s.json --results o.json --dump-outputs d.json",
        &["o.json", "d.json"],
    ),
    (
        "run-all-op --database-path db --ops Add --invalid-rows drop --backend native --repeat-count 1 --output out --status-file s.json --execution-mode subprocess --results o.json --dump-outputs d.json",
        &["o.json", "d.json"],
    ),
];

/// Places that take no file: a full device, a folder that nobody may write to, a folder that is none.
const UNWRITABLE: [&str; 3] = ["/dev/full", "/proc/o.json", "p.csv/o.json"];

/// The status of the operators says how the run went, also when its results cannot be kept.
fn without_status(mut files: Files) -> Files {
    files.remove(Path::new("s.json"));
    files
}

#[test]
fn an_output_that_cannot_be_written_leaves_everything_as_it_was() -> TestResult {
    for (line, outputs) in CASES {
        for bad in *outputs {
            for place in UNWRITABLE {
                let world = World::new()?;
                for output in *outputs {
                    std::fs::write(world.at(output), "old")?;
                }
                let before = world.files()?;
                let line = line.replace(bad, place);
                let output = world.run(&line)?;
                let stderr = String::from_utf8(output.stderr)?;
                assert_eq!(output.status.code(), Some(1), "{line}: {stderr}");
                assert_eq!(stderr.lines().filter(|line| line.starts_with("error: ")).count(), 1, "{line}: {stderr}");
                let after = without_status(world.files()?);
                let other: Vec<_> = after.iter().filter(|(path, content)| before.get(*path) != Some(content)).collect();
                assert!(after == before, "{line}: {other:?}");
            }
        }
    }
    Ok(())
}

#[test]
fn the_same_command_lines_write_everything_where_they_can() -> TestResult {
    for (line, outputs) in CASES {
        let world = World::new()?;
        let before = world.files()?;
        let output = world.run(line)?;
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(outputs.iter().all(|output| world.at(output).is_file()), "{line}");
        let only_reads = [
            "cut-forward-pass",
            "generate-per-shape-comparison",
            "query-database",
            "evaluate-database",
            "audit-coverage",
            "diff-databases",
        ];
        let changes_tables = line.contains("--append") || !only_reads.iter().any(|tool| line.starts_with(tool));
        let others = world.files()?.into_iter().filter(|(path, content)| {
            !outputs.iter().any(|output| path == Path::new(output)) && before.get(path) != Some(content)
        });
        assert_eq!(others.count() > 0, changes_tables, "{line}: what may not change in the other test");
    }
    Ok(())
}
