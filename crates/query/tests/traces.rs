//! Every call of the simulator's traces, answered as the simulator was. The traces lie beside the repository, where they are.

use perfdb_query::{Database, Layer, ParallelConfig, ReaderSemantics, read_trace};
use std::path::{Path, PathBuf};

type TestResult = Result<(), Box<dyn std::error::Error>>;

const DATABASE: &str = "db/ATLAS_800_A3_752T_128G_DIE/vllm_ascend/vllm0.18.0_torch2.9.0_cann8.5";

fn data() -> Option<PathBuf> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let is_there = data.join(DATABASE).is_dir();
    if !is_there {
        eprintln!("skipped: {} is not there", data.display());
    }
    is_there.then_some(data)
}

fn check(folder: &str, semantics: ReaderSemantics, layer: Layer) -> TestResult {
    let Some(data) = data() else { return Ok(()) };
    let database = Database::open(data.join(DATABASE))?;
    let reader = database.reader(semantics, layer);
    let mut wrong = Vec::new();
    let mut calls = 0;
    for entry in std::fs::read_dir(data.join(folder))? {
        let path = entry?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if !name.contains("_trace.json") {
            continue;
        }
        for call in read_trace(&path, &ParallelConfig::default())? {
            calls += call.count;
            let answer = reader.lookup(&call.query);
            let is_same = match (&answer, &call.answered) {
                (Err(_), None) => true,
                (Ok(answer), Some(answered)) => {
                    answer.duration_us >= call.range_us.0 - 0.500_001
                        && answer.duration_us <= call.range_us.1 + 0.500_001
                        && answer.source.name() == answered.source
                        && answered
                            .kernel_type
                            .as_deref()
                            .is_none_or(|kernel| answer.kernel_type().as_deref() == Some(kernel))
                        && answered.rule.as_deref().is_none_or(|rule| answer.rule == Some(rule))
                }
                _ => false,
            };
            if !is_same {
                wrong.push(format!(
                    "{name} {} {} x{}: {:?} {:?}\n    {answer:?}",
                    call.event, call.operator, call.count, call.range_us, call.answered
                ));
            }
        }
    }
    assert!(calls > 5000, "{calls} calls");
    assert!(wrong.is_empty(), "{} of {calls} differ\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

#[test]
fn of_the_newest_simulator() -> TestResult {
    check("tc-traces-newest", ReaderSemantics::Upstream, Layer::Interpolating)
}

#[test]
fn of_the_simulator_of_2025() -> TestResult {
    check("tc-traces/profiling", ReaderSemantics::Upstream2025, Layer::Measured)
}
