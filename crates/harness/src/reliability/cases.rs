//! What is mutated: the golden cases, and command lines in a folder with something for every tool.

use crate::reliability::Error;
use crate::reliability::files::{self, Entry, Files};
use crate::reliability::program::Line;
use crate::reliability::world;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A command line and the files that it works on.
#[derive(Debug)]
pub struct Case {
    /// Where it comes from.
    pub name: String,
    /// What it is run as.
    pub line: Line,
    /// What is there.
    pub files: Files,
    /// Files that the command line names, or that lie in folders that it names.
    pub named: Vec<PathBuf>,
    /// Other files that it may read.
    pub others: Vec<PathBuf>,
}

#[derive(Deserialize)]
struct Description {
    tool: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    stdin: Option<String>,
}

/// All cases, by tool. Those that start programs of their own, that need other data, or that only print their usage are left out: what is tried is
/// what perfdb does with its inputs.
pub fn all() -> Result<BTreeMap<String, Vec<Case>>, Error> {
    let mut cases: BTreeMap<String, Vec<Case>> = BTreeMap::new();
    let golden = world::testdata().join("golden");
    for folder in folders(&golden)?.iter().map(|tool| folders(tool)).collect::<Result<Vec<_>, _>>()?.concat() {
        if let Some(case) = golden_case(&golden, &folder)? {
            cases.entry(case.line.tool().to_owned()).or_default().push(case);
        }
    }
    let inputs = world::inputs()?;
    for line in world::WRITERS.iter().map(|(line, _)| line).chain(world::READERS) {
        let case = Case::new((*line).to_owned(), Line::of(line), inputs.clone());
        cases.entry(case.line.tool().to_owned()).or_default().push(case);
    }
    for (line, from) in SHIPPED {
        let files = files::read(&world::testdata().join(from))?;
        let case = Case::new(format!("{from}: {line}"), Line::of(line), files);
        cases.entry(case.line.tool().to_owned()).or_default().push(case);
    }
    Ok(cases)
}

/// Command lines in folders of testdata.
const SHIPPED: &[(&str, &str)] = &[
    ("check-database --database-path HOST_CPU/demo --json o.json", "demo-database"),
    ("check-trace mi300x.json --json o.json --repair r.json", "gpu-traces"),
    ("compare-traces --ranks rank0.json rank1.json rank2.json rank3.json", "ranks"),
    ("compare-traces mi300x.json h100.json --result-json o.json --result-csv o.csv --html o.html", "gpu-traces"),
    ("compare-traces shapes-h100.json shapes-a100.json --shapes o.csv --explain", "gpu-traces"),
    ("cut-forward-pass profile --list --json o.json", "first-database"),
    ("evaluate-database --database-path HOST_CPU/demo --json o.json", "demo-database"),
    (
        "explain-prediction --tc-trace trace.json --prof-trace profile/ASCEND_PROFILER_OUTPUT/kernel_details.csv --json o.json",
        "first-database",
    ),
    ("fill-fia-runtime-metadata --database-path database --jsonl-path fia.jsonl", "first-database"),
    (
        "generate-shape-grid --database-path HOST_CPU/demo --config rules.yaml --rows 3 --seed 1 --json o.json",
        "demo-database",
    ),
    ("import-database --from aiconfigurator example_gpu --database-path gpus", "aiconfigurator"),
    ("parse-kernel-details --profiling-path profile --database-path database", "first-database"),
    ("query-database --database-path database --from-trace trace.json --json o.json", "first-database"),
    ("start-microbench --prof-path PROF_000001_20260101000000_EXAMPLE --database-path database", "first-database"),
];

fn folders(of: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut found: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(of)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

fn golden_case(golden: &Path, folder: &Path) -> Result<Option<Case>, Error> {
    let Ok(text) = fs::read_to_string(folder.join("case.json")) else { return Ok(None) };
    let description: Description = serde_json::from_str(&text)?;
    let name = folder.strip_prefix(golden)?.display().to_string();
    let texts = || description.args.iter().chain(description.env.values());
    let files = files::read(folder)?;
    let starts_programs = description.env.contains_key("PATH")
        || files
            .keys()
            .any(|path| path.extension().is_some_and(|ending| ending == "py") || is_executable(&folder.join(path)))
        || matches!(description.tool.as_str(), "run-comm-bench" | "probe-dfc-constraints")
        || texts().any(|text| matches!(text.as_str(), "--do-run" | "--python" | "torch" | "npu"));
    let is_elsewhere =
        texts().any(|text| text.contains("../data/") || text.contains("{DATA}") || text.contains("{CASE}"));
    if starts_programs || is_elsewhere || name.contains("usage") {
        return Ok(None);
    }
    let words = std::iter::once(description.tool).chain(description.args).collect();
    let line = Line { words, variables: description.env.into_iter().collect(), stdin: description.stdin };
    Ok(Some(Case::new(name, line, files)))
}

fn is_executable(path: &Path) -> bool {
    path.is_file() && fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
}

/// Files that say what is expected, or what a case is about.
fn is_input(path: &Path) -> bool {
    let first = path.iter().next().unwrap_or_default().to_string_lossy();
    let ends = |ending: &str| path.extension().is_some_and(|found| found == ending);
    !(first.starts_with("expected") || first == "case.json" || first.starts_with('.') || ends("md") || ends("keep"))
}

impl Case {
    fn new(name: String, line: Line, files: Files) -> Case {
        let is_named = |path: &Path| {
            line.stdin.iter().chain(&line.words).any(|word| path.starts_with(Path::new(word.trim_start_matches("./"))))
        };
        let inputs = files.iter().filter(|(path, entry)| matches!(entry, Entry::File(_)) && is_input(path));
        let (named, others) = inputs.map(|(path, _)| path.clone()).partition(|path| is_named(path));
        Case { name, line, files, named, others }
    }
}
