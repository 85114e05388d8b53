//! Tools whose results are the same whenever they run.

use super::support::{TestResult, copy_folder, merges_to_the_whole, testdata};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

const SCENARIOS: [&str; 4] = ["qwen3_32b_prefill", "qwen3_32b_decode", "deepseek_v3_prefill", "deepseek_v3_decode"];

/// Scenarios with a file that is missing, an M6 file that is to be computed, and, if asked for, one that fails.
fn scenarios(folder: &Path, with_failure: bool) -> TestResult {
    copy_folder(&testdata("scenarios"), &folder.join("data"))?;
    let mut list = String::new();
    for number in 0..14 {
        let name = SCENARIOS[number % SCENARIOS.len()];
        let passes = ["n_forward_passes: 1", "n_forward_passes: 2", "m6: out/m6.json"][number % 3];
        writeln!(
            list,
            "- {{name: '{name} {number}', tc_trace: data/{name}/trace.json, trace_csv: data/{name}/forward_pass.csv, {passes}}}"
        )?;
    }
    writeln!(list, "- {{name: gone, tc_trace: data/gone.json, trace_csv: data/gone.csv}}")?;
    if with_failure {
        fs::write(folder.join("data/broken.json"), "{\"traceEvents\": [")?;
        writeln!(
            list,
            "- {{name: broken, tc_trace: data/broken.json, trace_csv: data/qwen3_32b_decode/forward_pass.csv}}"
        )?;
    }
    fs::write(folder.join("list.yaml"), list)?;
    Ok(())
}

#[test]
fn generate_op_comparison() -> TestResult {
    let arguments = "generate-op-comparison --scenarios list.yaml --data-dir data --output out/comparison.json --html out/page.html --csv out/rows.csv --semantics corrected --sort delta --fail-above 20";
    merges_to_the_whole(|folder| scenarios(folder, false), arguments)
}

#[test]
fn generate_op_comparison_with_a_scenario_that_fails() -> TestResult {
    let arguments = "generate-op-comparison --scenarios list.yaml --data-dir data --output o.json --keep-going";
    merges_to_the_whole(|folder| scenarios(folder, true), arguments)
}

#[test]
fn explain_prediction() -> TestResult {
    let prepare = |folder: &Path| {
        scenarios(folder, false)?;
        let list = fs::read_to_string(folder.join("list.yaml"))?;
        let kept: Vec<&str> = list.lines().filter(|line| !line.contains("gone") && !line.contains("m6:")).collect();
        Ok(fs::write(folder.join("list.yaml"), kept.join("\n"))?)
    };
    let arguments = "explain-prediction --scenarios list.yaml --data-dir data --json attribution.json --csv attribution.csv --html attribution.html --measure-dir to_measure";
    merges_to_the_whole(prepare, arguments)
}

#[test]
fn explain_prediction_with_a_scenario_that_fails() -> TestResult {
    let arguments = "explain-prediction --scenarios list.yaml --json attribution.json";
    merges_to_the_whole(|folder| scenarios(folder, true), arguments)
}

#[test]
fn compare_traces() -> TestResult {
    let prepare = |folder: &Path| {
        copy_folder(&testdata("gpu-traces"), folder)?;
        let mut list = "pairs:\n".to_owned();
        for number in 0..9 {
            let format = ["json", "csv", "text"][number % 3];
            writeln!(list, "- {{name: pair {number}, trace1: mi300x.json, trace2: h100.json, format: {format}}}")?;
        }
        writeln!(list, "- {{name: gone, trace1: mi300x.json, trace2: gone.json}}")?;
        Ok(fs::write(folder.join("pairs.yaml"), list)?)
    };
    merges_to_the_whole(prepare, "compare-traces --pairs pairs.yaml --output-dir results")
}

#[test]
fn parse_kernel_details() -> TestResult {
    let prepare = |folder: &Path| {
        copy_folder(&testdata("golden/parse-kernel-details/fia-row-count-mismatch-warns/prof"), &folder.join("prof"))?;
        let header = fs::read_to_string(folder.join("prof/p0/kernel_details.csv"))?;
        let header = header.lines().next().ok_or("no header")?;
        let mut rows = format!("{header}\n");
        for number in 0..300_u32 {
            let kernel_type = ["MatMulV2", "RmsNorm", "SwiGlu", "Add", "Mul/1", "Mul:1", "Cast", "Sort", "GatherV2"]
                [number as usize % 9];
            let cell = |column: &str| match column {
                "Type" => kernel_type.to_owned(),
                "Duration(us)" => format!("{}.{}", number % 7, number),
                "Input Shapes" => format!("\"{},16\"", number % 4),
                "Output Shapes" => "\"4,16\"".to_owned(),
                "Input Data Types" => ["FLOAT", "DT_BF16"][number as usize % 5 / 4].to_owned(),
                _ => number.to_string(),
            };
            writeln!(rows, "{}", header.split(',').map(cell).collect::<Vec<_>>().join(","))?;
        }
        fs::create_dir(folder.join("prof/p2"))?;
        fs::write(folder.join("prof/p2/kernel_details.csv"), rows)?;
        // A table with measurements, which is kept.
        fs::create_dir(folder.join("db"))?;
        let table = "Input Shapes,Output Shapes,Average Duration(us)\n\"4,4\",\"4,4\",3.5\n";
        Ok(fs::write(folder.join("db/MatMulV2.csv"), table)?)
    };
    let arguments = "parse-kernel-details --profiling-path prof --database-path db --json db/summary.json";
    merges_to_the_whole(prepare, arguments)
}
