//! All outputs of a run change, or none: one that cannot be written leaves the others, and every table, as they were.

use super::world::{Files, TestResult, World};
use perfdb_harness::reliability::world::WRITERS;
use std::path::Path;

/// Places that take no file: a full device, a folder that nobody may write to, a folder that is none.
const UNWRITABLE: [&str; 3] = ["/dev/full", "/proc/o.json", "p.csv/o.json"];

/// The status of the operators says how the run went, also when its results cannot be kept.
fn without_status(mut files: Files) -> Files {
    files.remove(Path::new("s.json"));
    files
}

#[test]
fn an_output_that_cannot_be_written_leaves_everything_as_it_was() -> TestResult {
    for (line, outputs) in WRITERS {
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
    for (line, outputs) in WRITERS {
        let world = World::new()?;
        let before = world.files()?;
        let output = world.run(line)?;
        // What is repaired is a finding.
        assert!(matches!(output.status.code(), Some(0 | 3)), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(outputs.iter().all(|output| world.at(output).is_file()), "{line}");
        let only_reads = [
            "bundle-reports",
            "cut-forward-pass",
            "generate-per-shape-comparison",
            "query-database",
            "evaluate-database",
            "audit-coverage",
            "diff-databases",
            "check-trace",
        ];
        let changes_tables = line.contains("--append") || !only_reads.iter().any(|tool| line.starts_with(tool));
        let others = world.files()?.into_iter().filter(|(path, content)| {
            !outputs.iter().any(|output| path == Path::new(output)) && before.get(path) != Some(content)
        });
        assert_eq!(others.count() > 0, changes_tables, "{line}: what may not change in the other test");
    }
    Ok(())
}
