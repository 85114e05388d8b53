//! Scenario files: a YAML list of what to compare. Paths lead from the folder of the file, else from the current folder.
//!
//! ```yaml
//! scenarios:
//!   - name: Qwen3 PF
//!     tc_trace: results/qwen3_pf_trace.json
//!     trace_csv: "{trace_dir}/qwen3-32b_pf_4112tok.csv"
//!     m6: results/qwen3_prefill_m6.json      # or n_forward_passes: 2
//! ```

use super::{ForwardPasses, Scenario};
use crate::error::Error;
use perfdb_files::paths::led_by;
use perfdb_pycompat::yaml::{self, Key, Map, Node};
use perfdb_trace::source::Source;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// What a scenario file names.
#[derive(Debug, Clone, PartialEq)]
pub struct ScenarioList {
    /// In the order of the file.
    pub scenarios: Vec<Scenario>,
    /// The paths that lead nowhere from the folder of the file, and to a file from the current folder.
    pub from_current_folder: Vec<PathBuf>,
}

/// Reads a scenario file; `{trace_dir}` in a path becomes `trace_dir`, which leads from the current folder.
///
/// # Errors
/// When the file can't be read, is not a list of scenarios, or a scenario has unknown, missing or wrong keys or a name that
/// another one has.
pub fn read_scenarios(path: &Path, trace_dir: &Path) -> Result<ScenarioList, Error> {
    let text = Source::open(path)?.read_text()?;
    let folders = Folders { file: path, trace_dir };
    parse(&text, folders).map_err(|reason| Error::ScenarioFile { path: path.to_owned(), reason })
}

/// Where paths lead from.
#[derive(Clone, Copy)]
struct Folders<'p> {
    file: &'p Path,
    trace_dir: &'p Path,
}

impl Folders<'_> {
    /// The path of a text; one that leads from the current folder is noted.
    fn path(self, text: String, from_current_folder: &mut Vec<PathBuf>) -> PathBuf {
        const TRACE_DIR: &str = "{trace_dir}";
        let parts: Vec<&OsStr> = text.split(TRACE_DIR).map(OsStr::new).collect();
        let path = PathBuf::from(parts.join(self.trace_dir.as_os_str()));
        if text.starts_with(TRACE_DIR) {
            return path;
        }
        let led = led_by(self.file, &path);
        if led.is_from_current_folder {
            from_current_folder.push(led.path.clone());
        }
        led.path
    }
}

fn parse(text: &str, folders: Folders<'_>) -> Result<ScenarioList, String> {
    let list = match yaml::parse(text).map_err(|error| error.to_string())? {
        Node::List(list) => list,
        Node::Map(mut map) => {
            let list = map.remove("scenarios");
            if let Some((key, _)) = map.iter().next() {
                return Err(format!("unknown key {key:?}, the only one may be \"scenarios\"", key = key.to_string()));
            }
            match list {
                Some(Node::List(list)) => list,
                Some(other) => return Err(format!("scenarios must be a list, not {}", other.kind())),
                None => return Err("the key \"scenarios\" is missing".to_owned()),
            }
        }
        other => return Err(format!("a list of scenarios is needed, not {}", other.kind())),
    };
    let mut names = HashSet::new();
    let mut scenarios = Vec::with_capacity(list.len());
    let mut from_current_folder = Vec::new();
    for (position, node) in list.into_iter().enumerate() {
        let position_text = format!("scenario {}", position + 1);
        let Node::Map(map) = node else { return Err(format!("{position_text} is {}, not a map", node.kind())) };
        let scenario = scenario(map, folders, &mut from_current_folder).map_err(|(name, reason)| match name {
            Some(name) => format!("{position_text} ({name:?}): {reason}"),
            None => format!("{position_text}: {reason}"),
        })?;
        if !names.insert(scenario.name.clone()) {
            return Err(format!("{position_text}: the name {:?} is used twice", scenario.name));
        }
        scenarios.push(scenario);
    }
    Ok(ScenarioList { scenarios, from_current_folder })
}

/// One scenario, or its name (where it is known) and what is wrong with it.
fn scenario(
    mut map: Map,
    folders: Folders<'_>,
    from_current_folder: &mut Vec<PathBuf>,
) -> Result<Scenario, (Option<String>, String)> {
    let name = match text(&mut map, "name") {
        Ok(Some(name)) if !name.is_empty() => name,
        Ok(Some(_)) => return Err((None, "name is empty".to_owned())),
        Ok(None) => return Err((None, "the key \"name\" is missing".to_owned())),
        Err(reason) => return Err((None, reason)),
    };
    rest(map, folders, from_current_folder, &name).map_err(|reason| (Some(name), reason))
}

fn rest(
    mut map: Map,
    folders: Folders<'_>,
    from_current_folder: &mut Vec<PathBuf>,
    name: &str,
) -> Result<Scenario, String> {
    let mut path =
        |key: &str| Ok::<_, String>(text(&mut map, key)?.map(|path| folders.path(path, from_current_folder)));
    let needed = |key: &str, value: Option<PathBuf>| value.ok_or_else(|| format!("the key {key:?} is missing"));
    let tc_trace = needed("tc_trace", path("tc_trace")?)?;
    let trace_csv = needed("trace_csv", path("trace_csv")?)?;
    let m6 = path("m6")?;
    let number = match map.remove("n_forward_passes") {
        None => None,
        Some(Node::Integer(number)) => Some(number as f64),
        Some(Node::Float(number)) => Some(number),
        Some(other) => return Err(format!("n_forward_passes must be a number, not {}", other.kind())),
    };
    let forward_passes = match (m6, number) {
        (Some(_), Some(_)) => return Err("m6 and n_forward_passes exclude each other".to_owned()),
        (Some(path), None) => ForwardPasses::M6File(path),
        (None, number) => ForwardPasses::Number(number.unwrap_or(1.0)),
    };
    match map.iter().next() {
        Some((Key::Text(key) | Key::Other(_, key), _)) => Err(format!("unknown key {key:?}")),
        None => Ok(Scenario { name: name.to_owned(), tc_trace, trace_csv, forward_passes }),
    }
}

fn text(map: &mut Map, key: &str) -> Result<Option<String>, String> {
    match map.remove(key) {
        None => Ok(None),
        Some(Node::Text(text)) => Ok(Some(text)),
        Some(other) => Err(format!("{key} must be a text, not {}", other.kind())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, trace_dir: &Path) -> Result<Vec<Scenario>, String> {
        super::parse(text, Folders { file: Path::new("list.yaml"), trace_dir }).map(|list| list.scenarios)
    }

    #[test]
    fn paths_lead_from_the_folder_of_the_file() {
        let list = "- {name: a, tc_trace: t.json, trace_csv: '{trace_dir}/p.csv', m6: Cargo.toml}";
        let folders = Folders { file: Path::new("lists/list.yaml"), trace_dir: Path::new("dir") };
        let list = super::parse(list, folders).unwrap();
        let [scenario] = list.scenarios.as_slice() else { panic!("{list:?}") };
        assert_eq!(
            (scenario.tc_trace.as_path(), scenario.trace_csv.as_path()),
            ("lists/t.json".as_ref(), "dir/p.csv".as_ref())
        );
        assert_eq!(scenario.forward_passes, ForwardPasses::M6File("Cargo.toml".into()));
        assert_eq!(list.from_current_folder, [PathBuf::from("Cargo.toml")]);
    }

    #[test]
    fn both_forms_and_the_placeholder() {
        let list = "- {name: a, tc_trace: t.json, trace_csv: '{trace_dir}/p.csv', m6: '{trace_dir}/m.json'}\n\
                    - {name: b, tc_trace: t, trace_csv: c, n_forward_passes: 2.5}\n- {name: c, tc_trace: t, trace_csv: c}";
        let scenarios = parse(list, Path::new("dir")).unwrap();
        assert_eq!(scenarios[0].trace_csv, Path::new("dir/p.csv"));
        assert_eq!(scenarios[0].forward_passes, ForwardPasses::M6File("dir/m.json".into()));
        assert_eq!(scenarios[1].forward_passes, ForwardPasses::Number(2.5));
        assert_eq!(scenarios[2].forward_passes, ForwardPasses::Number(1.0));
        let indented = list.replace("\n                    ", "\n");
        let map =
            format!("scenarios:\n{}", indented.lines().map(|line| format!("  {}\n", line.trim())).collect::<String>());
        assert_eq!(parse(&map, Path::new("dir")).unwrap(), scenarios);
        assert_eq!(parse("[]", Path::new("")).unwrap(), []);
        assert_eq!(parse("scenarios: []", Path::new("")).unwrap(), []);
    }

    #[test]
    fn faults_name_the_scenario_and_the_key() {
        for (text, part) in [
            ("", "list of scenarios"),
            ("scenarios:", "must be a list"),
            ("scenarios: []\nmore: 1", "\"more\""),
            ("- 5", "scenario 1 is a number"),
            ("- {tc_trace: t, trace_csv: c}", "\"name\" is missing"),
            ("- {name: '', tc_trace: t, trace_csv: c}", "name is empty"),
            ("- {name: 5, tc_trace: t, trace_csv: c}", "name must be a text"),
            ("- {name: a, trace_csv: c}", "(\"a\"): the key \"tc_trace\""),
            ("- {name: a, tc_trace: t}", "\"trace_csv\" is missing"),
            ("- {name: a, tc_trace: [t], trace_csv: c}", "tc_trace must be a text, not a list"),
            ("- {name: a, tc_trace: t, trace_csv: c, extra: 1}", "unknown key \"extra\""),
            ("- {name: a, tc_trace: t, trace_csv: c, n_forward_passes: '2'}", "must be a number"),
            ("- {name: a, tc_trace: t, trace_csv: c, n_forward_passes: true}", "must be a number"),
            ("- {name: a, tc_trace: t, trace_csv: c, n_forward_passes: 1, m6: x}", "exclude each other"),
            (
                "- {name: a, tc_trace: t, trace_csv: c}\n- {name: a, tc_trace: t, trace_csv: c}",
                "scenario 2: the name \"a\"",
            ),
            ("a: [", "line"),
        ] {
            let reason = parse(text, Path::new("")).unwrap_err();
            assert!(reason.contains(part), "{text}: {reason}");
        }
    }
}
