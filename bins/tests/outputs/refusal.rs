//! An output that names an input is refused, by whatever name.

use super::world::{TestResult, World};
use std::fs;
use std::os::unix::fs::symlink;

/// Command lines with `OUT` for the output, and the inputs that it may not be.
const CASES: &[(&str, &[&str])] = &[
    ("compute-m6 --tc-trace t.json --prof-trace p.csv --json-output OUT", &["t.json", "p.csv"]),
    (
        "compute-m6 --tc-trace t.json --prof-trace p.csv --baseline m6.json --fail-regression 5 --json-output OUT",
        &["m6.json"],
    ),
    ("trace-to-csv --trace t.json --output OUT", &["t.json"]),
    ("generate-per-shape-comparison --tc-trace t.json --prof-trace p.csv --output OUT", &["t.json", "p.csv"]),
    (
        "generate-op-comparison --data-dir db --tc-trace t.json --prof-trace p.csv --output OUT",
        &["t.json", "p.csv", "db/op_mapping.yaml"],
    ),
    (
        "generate-op-comparison --data-dir db --tc-trace t.json --prof-trace p.csv --output o.json --csv OUT",
        &["t.json", "p.csv"],
    ),
    (
        "generate-op-comparison --data-dir db --tc-trace t.json --prof-trace p.csv --output o.json --html-output OUT",
        &["t.json", "p.csv"],
    ),
    (
        "generate-op-comparison --data-dir db --scenarios scenarios.yaml --output OUT",
        &["scenarios.yaml", "m6.json", "t.json"],
    ),
    (
        "explain-prediction --tc-trace t.json --prof-trace p.csv --data-dir db --json OUT",
        &["t.json", "db/op_mapping.yaml", "db/Add.csv"],
    ),
    ("explain-prediction --tc-trace t.json --prof-trace p.csv --csv OUT", &["p.csv"]),
    ("explain-prediction --tc-trace t.json --prof-trace p.csv --families families.yaml --html OUT", &["families.yaml"]),
    ("explain-prediction --scenarios scenarios.yaml --html OUT", &["scenarios.yaml", "m6.json"]),
    ("cut-forward-pass p.csv --pass 1 --output OUT", &["p.csv"]),
    ("cut-forward-pass p.csv --json OUT", &["p.csv"]),
    ("compare-traces gpu1.json gpu2.json --output OUT", &["gpu1.json", "gpu2.json"]),
    ("compare-traces gpu1.json gpu2.json --registry registry.yaml --output OUT", &["registry.yaml"]),
    ("check-trace t.json --repair OUT", &["t.json"]),
    ("check-database --database-path db --json OUT", &["db/Add.csv", "db/op_mapping.yaml"]),
    ("check-database --database-path db --csv OUT", &["db/op_mapping.yaml"]),
    ("evaluate-database --database-path db --csv OUT", &["db/op_mapping.yaml"]),
    ("evaluate-database --database-path db --json OUT", &["db/Add.csv", "db/op_mapping.yaml"]),
    ("evaluate-database --database-path db --html OUT", &["db/Add.csv"]),
    (
        "audit-coverage --database-path db --manifest q.jsonl --json OUT",
        &["q.jsonl", "db/Add.csv", "db/op_mapping.yaml"],
    ),
    ("audit-coverage --database-path db --from-trace t.json --csv OUT", &["t.json"]),
    (
        "check-density --database-path db --manifest q.jsonl --baseline-database grid --json OUT",
        &["q.jsonl", "db/Add.csv", "db/op_mapping.yaml", "grid/Add.csv"],
    ),
    ("diff-databases db grid --csv OUT", &["db/Add.csv", "grid/Add.csv", "db/op_mapping.yaml"]),
    ("merge-databases db grid --json OUT", &["db/Add.csv", "grid/Add.csv", "db/op_mapping.yaml"]),
    ("merge-databases db grid --decisions list.csv --conflicts OUT", &["list.csv", "grid/Add.csv"]),
    (
        "query-database --database-path db --manifest q.jsonl --json OUT",
        &["q.jsonl", "db/Add.csv", "db/op_mapping.yaml"],
    ),
    ("query-database --database-path db --manifest q.jsonl --csv OUT", &["q.jsonl", "db/Add.csv"]),
    ("query-database --database-path db --from-trace t.json --json OUT", &["t.json"]),
    (
        "parse-kernel-details --profiling-path kd --database-path db --json OUT",
        &["kd/kernel_details.csv", "db/Add.csv"],
    ),
    (
        "start-microbench --prof-path PROF_1 --database-path db --json OUT",
        &["PROF_1/mindstudio_profiler_output/op_summary_1.csv", "db/Add.csv"],
    ),
    (
        "fill-fia-runtime-metadata --csv-path fia/Fia.csv --jsonl-path records.jsonl --output-path OUT",
        &["records.jsonl"],
    ),
    ("generate-shape-grid --database-path grid --rows 3 --seed 1 --json OUT", &["grid/Add.csv"]),
    ("op-replay Add --csv db/Add.csv --backend native --repeat-count 1 --output out --results OUT", &["db/Add.csv"]),
    (
        "op-replay Add --csv db/Add.csv --backend native --repeat-count 1 --output out --dump-outputs OUT",
        &["db/Add.csv"],
    ),
    (
        "run-all-op --database-path db --ops Add --backend native --repeat-count 1 --output out --results OUT",
        &["db/Add.csv"],
    ),
    (
        "run-all-op --database-path db --ops Add --backend native --repeat-count 1 --output out --status-file OUT",
        &["db/Add.csv"],
    ),
    ("validate-comm-alignment --csv-dir comm --json OUT", &["comm/hcom_allReduce_.csv"]),
    ("generate-comm-microbench --from-results results --output-dir new --report OUT", &["results/plan.json"]),
    ("generate-comm-microbench --from-results results --output-csv OUT", &["results/plan.json"]),
];

/// Other names of a file.
fn names_of(world: &World, input: &str) -> std::io::Result<[String; 4]> {
    symlink(world.at(input), world.at("link"))?;
    fs::hard_link(world.at(input), world.at("second-name"))?;
    Ok([input.to_owned(), format!("./{input}"), "link".to_owned(), "second-name".to_owned()])
}

#[test]
fn an_output_that_is_an_input_is_refused_by_every_tool() -> TestResult {
    for (line, inputs) in CASES {
        for input in *inputs {
            let world = World::new()?;
            let names = names_of(&world, input)?;
            let before = world.files()?;
            for name in names {
                let line = line.replace("OUT", &name);
                let output = world.run(&line)?;
                let stderr = String::from_utf8(output.stderr)?;
                assert_eq!(output.status.code(), Some(1), "{line}: {stderr}");
                assert!(stderr.contains("is an input of this run"), "{line}: {stderr}");
                assert!(world.files()? == before, "{line}: a file has changed");
            }
        }
    }
    Ok(())
}

#[test]
fn an_output_of_a_pair_that_is_a_trace_of_any_pair_is_refused() -> TestResult {
    let world = World::new()?;
    fs::write(
        world.at("pairs.yaml"),
        "pairs:\n- {name: gpu2, trace1: gpu1.json, trace2: gpu1.json}\n- {name: other, trace1: gpu1.json, trace2: gpu2.json}\n",
    )?;
    let before = world.files()?;
    let output = world.run("compare-traces --pairs pairs.yaml --format json")?;
    let stderr = String::from_utf8(output.stderr)?;
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("gpu2.json: is an input of this run"), "{stderr}");
    assert!(world.files()? == before);
    Ok(())
}
