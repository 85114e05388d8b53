//! Inputs of another kind than the option takes: two files that change places, a GPU trace where the simulator's is wanted.

use crate::positional;
use clap::{ArgMatches, Command};
use perfdb_files::escape::shown;
use perfdb_trace::source::Source;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// What a file or folder is, as its first bytes say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    SimulatorTrace,
    GpuTrace,
    AscendTimeline,
    Kernels,
    Table,
    Database,
}

impl Kind {
    /// The kind, and who takes it.
    fn text(self) -> &'static str {
        match self {
            Kind::SimulatorTrace => {
                "a simulator's trace (explain-prediction, compute-m6, trace-to-csv and query-database --from-trace take it)"
            }
            Kind::GpuTrace => "a GPU trace (explain-trace, compare-traces and check-trace take it)",
            Kind::AscendTimeline => {
                "an Ascend timeline (explain-trace, compare-traces and check-trace take it); the simulator's trace is an object with \"traceEvents\", and kernel_details.csv is next to this file"
            }
            Kind::Kernels => {
                "a kernel CSV of a profile (cut-forward-pass, parse-kernel-details, --prof-trace, explain-trace and compare-traces take it)"
            }
            Kind::Table => "a table of a database (--database-path takes its folder)",
            Kind::Database => "a database folder (--database-path takes it)",
        }
    }

    /// What an option of a tool takes, where only that can be right: the kind it is for, and others.
    fn taken(tool: &str, option: &str) -> Option<&'static [Kind]> {
        Some(match (tool, option) {
            (_, "tc-trace" | "from-trace") | ("trace-to-csv", "trace") => &[Kind::SimulatorTrace],
            (_, "prof-trace" | "profiling-path") | ("cut-forward-pass", "profile") => &[Kind::Kernels],
            ("compare-traces", "traces") | ("explain-trace" | "cut-trace", "trace") => {
                &[Kind::GpuTrace, Kind::AscendTimeline, Kind::Kernels]
            }
            // Kernels without operators have no shapes.
            ("database-from-trace", "traces") => &[Kind::GpuTrace, Kind::AscendTimeline],
            ("query-database", "words") => &[Kind::Database],
            (_, "database-path" | "data-dir") => &[Kind::Database],
            _ => return None,
        })
    }

    fn of(path: &Path) -> Option<Kind> {
        let metadata = std::fs::metadata(path).ok()?;
        if metadata.is_dir() {
            return path.join("op_mapping.yaml").is_file().then_some(Kind::Database);
        }
        // A pipe gives what it has only once.
        if !metadata.is_file() {
            return None;
        }
        let mut start = Vec::new();
        Source::open(path).ok()?.into_reader().take(LOOKED_AT).read_to_end(&mut start).ok()?;
        let text = String::from_utf8_lossy(&start);
        let text = text.trim_start_matches('\u{feff}').trim_start();
        match text.chars().next()? {
            '{' => of_object(text),
            '[' => text.contains("\"ph\"").then_some(Kind::AscendTimeline),
            _ => of_header(text.lines().next()?),
        }
    }
}

/// How much of a file is looked at.
const LOOKED_AT: u64 = 1 << 16;

fn of_object(text: &str) -> Option<Kind> {
    let has = |marks: &[&str]| marks.iter().any(|mark| text.contains(mark));
    let is_trace = has(&["\"traceEvents\""]);
    if is_trace && has(&["\"simulation_shapes\"", "\"shape_match_rule\""]) {
        return Some(Kind::SimulatorTrace);
    }
    let is_gpu = has(&["\"deviceProperties\"", "\"cuda_runtime\"", "\"hip_runtime\"", "\"gpu_memcpy\""]);
    is_gpu.then_some(Kind::GpuTrace)
}

fn of_header(line: &str) -> Option<Kind> {
    let cells: Vec<&str> = line.split(',').map(|cell| cell.trim().trim_matches('"')).collect();
    let has = |name: &str| cells.contains(&name);
    if has("Duration(us)") && has("Start Time(us)") && (has("Type") || has("Name")) {
        return Some(Kind::Kernels);
    }
    let is_timed = has("Duration(us)") || has("Average Duration(us)");
    (is_timed && has("Input Shapes") && has("Output Shapes") && !has("Type") && !has("Name")).then_some(Kind::Table)
}

/// An input of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Given {
    /// The option, or the name of the argument.
    name: String,
    path: PathBuf,
    /// The kind that it should be of, and others that are taken.
    taken: &'static [Kind],
}

/// The inputs of which only one kind can be right.
pub(crate) fn given(matches: &ArgMatches, command: &Command) -> Vec<Given> {
    let tool = command.get_name();
    let mut given = Vec::new();
    for argument in command.get_arguments() {
        let id = argument.get_id().as_str();
        let name = argument.get_long().unwrap_or(id);
        let Some(taken) = Kind::taken(tool, name) else { continue };
        if matches.value_source(id) != Some(clap::parser::ValueSource::CommandLine) {
            continue;
        }
        for path in matches.get_raw(id).into_iter().flatten() {
            let name = argument.get_long().map_or_else(|| name.to_uppercase(), |long| format!("--{long}"));
            given.push(Given { name, path: path.into(), taken });
        }
    }
    given
}

/// A text about an input of another kind, and whether a line is about that input.
pub(crate) struct Mistake {
    path: PathBuf,
    /// What is wrong, without the file in front.
    pub(crate) text: String,
}

impl Mistake {
    /// Whether a line on stderr begins with the input.
    pub(crate) fn is_about(&self, line: &str) -> bool {
        line.starts_with(&self.path.display().to_string())
    }

    /// The input and what is wrong with it.
    pub(crate) fn line(&self) -> String {
        format!("{}: {}", shown(&self.path), self.text)
    }
}

/// What is wrong with the inputs of a tool: only what is certainly of another kind is reported.
pub(crate) fn mistakes(tool: &str, given: &[Given]) -> Vec<Mistake> {
    let kinds: Vec<Option<Kind>> = given.iter().map(|one| Kind::of(&one.path)).collect();
    let is_other = |at: usize, by: usize| {
        kinds[at].is_some_and(|kind| given[by].taken.first() == Some(&kind) && !given[at].taken.contains(&kind))
    };
    let pairs = (0..given.len()).flat_map(|a| (a + 1..given.len()).map(move |b| (a, b)));
    if let Some((a, b)) = pairs.into_iter().find(|&(a, b)| is_other(a, b) && is_other(b, a)) {
        let (a, b) = (&given[a], &given[b]);
        let names = positional::inputs(tool).len() == 2;
        let right = if names {
            format!("{tool} {} {}", shown(&b.path), shown(&a.path))
        } else {
            format!("{} {} {} {}", a.name, shown(&b.path), b.name, shown(&a.path))
        };
        return vec![Mistake { path: a.path.clone(), text: format!("the two inputs are swapped: {right}") }];
    }
    let wrong = given.iter().zip(kinds).filter_map(|(one, kind)| {
        let kind = kind.filter(|kind| !one.taken.contains(kind))?;
        let text = if kind == Kind::Kernels && one.taken.contains(&Kind::GpuTrace) {
            "this is a kernel CSV of a profile; parse-kernel-details makes a database of it".to_owned()
        } else {
            format!("this is {}", kind.text())
        };
        Some(Mistake { path: one.path.clone(), text })
    });
    wrong.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_known_by_their_first_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        for (content, kind) in [
            (r#"{"traceEvents": [{"ph": "X", "args": {"simulation_shapes": "[]"}}]}"#, Some(Kind::SimulatorTrace)),
            (r#"{"schemaVersion": 1, "deviceProperties": [], "traceEvents": []}"#, Some(Kind::GpuTrace)),
            (r#" [{"ph": "X"}]"#, Some(Kind::AscendTimeline)),
            ("\u{feff}Name,Type,Start Time(us),Duration(us)\n", Some(Kind::Kernels)),
            ("Input Shapes,Output Shapes,Duration(us)\n", Some(Kind::Table)),
            (r#"{"traceEvents": []}"#, None),
            ("m,n,k,us\n", None),
            ("", None),
        ] {
            std::fs::write(&path, content).unwrap();
            assert_eq!(Kind::of(&path), kind, "{content}");
        }
        assert_eq!(Kind::of(folder.path()), None);
        std::fs::write(folder.path().join("op_mapping.yaml"), "").unwrap();
        assert_eq!(Kind::of(folder.path()), Some(Kind::Database));
    }

    #[test]
    fn inputs_in_each_others_place_are_told_once() {
        let folder = tempfile::tempdir().unwrap();
        let [trace, pass] = ["t.json", "p.csv"].map(|name| folder.path().join(name));
        std::fs::write(&trace, r#"{"traceEvents": [{"args": {"shape_match_rule": ""}}]}"#).unwrap();
        std::fs::write(&pass, "Name,Start Time(us),Duration(us)\n").unwrap();
        let given = |first: &Path, second: &Path| {
            let one = |name: &str, path: &Path, taken| Given { name: name.to_owned(), path: path.into(), taken };
            [one("--tc-trace", first, &[Kind::SimulatorTrace]), one("--prof-trace", second, &[Kind::Kernels])]
        };
        assert!(mistakes("compute-m6", &given(&trace, &pass)).is_empty());
        let swapped = mistakes("compute-m6", &given(&pass, &trace));
        assert_eq!(swapped.len(), 1);
        let right = format!("the two inputs are swapped: compute-m6 {} {}", trace.display(), pass.display());
        assert_eq!(swapped[0].text, right);
        assert!(swapped[0].is_about(&format!("{}: line 1: not JSON", pass.display())));
        let same = mistakes("compute-m6", &given(&trace, &trace));
        assert!(same[0].text.starts_with("this is a simulator's trace (explain-prediction, "), "{}", same[0].text);
    }
}
