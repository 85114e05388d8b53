//! The help texts of the communication tools, as people read them.

use std::error::Error;
use std::process::Command;

fn help(program: &str) -> Result<String, Box<dyn Error>> {
    let output = Command::new(program).arg("--help").output()?;
    assert!(output.status.success() && output.stderr.is_empty());
    Ok(String::from_utf8(output.stdout)?)
}

#[test]
fn generate_comm_microbench() -> Result<(), Box<dyn Error>> {
    insta::assert_snapshot!(help(env!("CARGO_BIN_EXE_generate-comm-microbench"))?);
    Ok(())
}

#[test]
fn run_comm_bench() -> Result<(), Box<dyn Error>> {
    insta::assert_snapshot!(help(env!("CARGO_BIN_EXE_run-comm-bench"))?);
    Ok(())
}

#[test]
fn validate_comm_alignment() -> Result<(), Box<dyn Error>> {
    insta::assert_snapshot!(help(env!("CARGO_BIN_EXE_validate-comm-alignment"))?);
    Ok(())
}
