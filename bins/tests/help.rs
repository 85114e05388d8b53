//! The help texts of all tools, as people read them.

use std::error::Error;
use std::process::Command;

const TOOLS: [(&str, &str); 16] = [
    ("check-database", env!("CARGO_BIN_EXE_check-database")),
    ("compare-traces", env!("CARGO_BIN_EXE_compare-traces")),
    ("compute-m6", env!("CARGO_BIN_EXE_compute-m6")),
    ("fill-fia-runtime-metadata", env!("CARGO_BIN_EXE_fill-fia-runtime-metadata")),
    ("generate-comm-microbench", env!("CARGO_BIN_EXE_generate-comm-microbench")),
    ("generate-op-comparison", env!("CARGO_BIN_EXE_generate-op-comparison")),
    ("generate-per-shape-comparison", env!("CARGO_BIN_EXE_generate-per-shape-comparison")),
    ("generate-shape-grid", env!("CARGO_BIN_EXE_generate-shape-grid")),
    ("op-replay", env!("CARGO_BIN_EXE_op-replay")),
    ("parse-kernel-details", env!("CARGO_BIN_EXE_parse-kernel-details")),
    ("probe-dfc-constraints", env!("CARGO_BIN_EXE_probe-dfc-constraints")),
    ("run-all-op", env!("CARGO_BIN_EXE_run-all-op")),
    ("run-comm-bench", env!("CARGO_BIN_EXE_run-comm-bench")),
    ("start-microbench", env!("CARGO_BIN_EXE_start-microbench")),
    ("trace-to-csv", env!("CARGO_BIN_EXE_trace-to-csv")),
    ("validate-comm-alignment", env!("CARGO_BIN_EXE_validate-comm-alignment")),
];

fn help(program: &str, columns: &str) -> Result<String, Box<dyn Error>> {
    let output = Command::new(program).arg("--help").env("COLUMNS", columns).output()?;
    assert!(output.status.success() && output.stderr.is_empty());
    Ok(String::from_utf8(output.stdout)?)
}

#[test]
fn texts() -> Result<(), Box<dyn Error>> {
    for (tool, program) in TOOLS {
        insta::assert_snapshot!(tool, help(program, "100")?);
    }
    Ok(())
}

/// An example that is wrapped can no longer be copied into a shell.
#[test]
fn examples_fit_into_eighty_columns() -> Result<(), Box<dyn Error>> {
    for (tool, program) in TOOLS {
        let text = help(program, "1000")?;
        let (_, examples) = text.split_once("Examples:\n").ok_or_else(|| format!("{tool} has no examples"))?;
        let commands = examples.lines().take_while(|line| line.is_empty() || line.starts_with("  "));
        for line in commands {
            assert!(line.chars().count() <= 80, "{tool}: {line}");
        }
    }
    Ok(())
}
