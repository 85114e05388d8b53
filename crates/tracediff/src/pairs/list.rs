//! The list of pairs (YAML).

use std::path::{Path, PathBuf};
use std::str::FromStr;

use perfdb_files::paths::led_by;
use perfdb_trace::source::Source;
use serde::Deserialize;

use crate::error::Error;
use crate::steps::{PhaseFilter, UnknownName};

/// Form of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// For people.
    Text,
    /// Everything.
    Json,
    /// A table.
    Csv,
}

impl FromStr for Format {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Format, UnknownName> {
        match name {
            "text" => Ok(Format::Text),
            "json" => Ok(Format::Json),
            "csv" => Ok(Format::Csv),
            _ => Err(UnknownName { expected: "text, json, csv" }),
        }
    }
}

impl Format {
    /// Ending of file names.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Text => "txt",
            Format::Json => "json",
            Format::Csv => "csv",
        }
    }
}

/// What a pair, or the defaults of the list, may set.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairSettings {
    /// Kernels that are compared.
    pub phase: Option<PhaseFilter>,
    /// Python stacks per operation and trace.
    pub max_stacks: Option<usize>,
    /// Whether Python stacks are ignored.
    pub no_stacks: Option<bool>,
    /// Whether layers are aligned kernel by kernel.
    pub aligned: Option<bool>,
    /// Whether everything is wanted.
    pub full: Option<bool>,
    /// Whether layers are shown.
    pub layers: Option<bool>,
    /// Form of the output.
    pub format: Option<Format>,
    /// Gap in ms beyond which an operation is slower or faster.
    pub threshold_ms: Option<f64>,
    /// Name of trace 1 in the result.
    pub label1: Option<String>,
    /// Name of trace 2 in the result.
    pub label2: Option<String>,
}

impl PairSettings {
    /// These settings, and `defaults` for those that are not set.
    pub fn or(self, defaults: &PairSettings) -> PairSettings {
        PairSettings {
            phase: self.phase.or(defaults.phase),
            max_stacks: self.max_stacks.or(defaults.max_stacks),
            no_stacks: self.no_stacks.or(defaults.no_stacks),
            aligned: self.aligned.or(defaults.aligned),
            full: self.full.or(defaults.full),
            layers: self.layers.or(defaults.layers),
            format: self.format.or(defaults.format),
            threshold_ms: self.threshold_ms.or(defaults.threshold_ms),
            label1: self.label1.or_else(|| defaults.label1.clone()),
            label2: self.label2.or_else(|| defaults.label2.clone()),
        }
    }
}

/// A pair of the list.
#[derive(Debug, Clone, PartialEq)]
pub struct PairSpec {
    /// Name.
    pub name: String,
    /// Paths as written in the list.
    pub traces: [String; 2],
    /// Paths from the current folder.
    pub paths: [PathBuf; 2],
    /// Output as written in the list, from the current folder.
    pub output: Option<String>,
    /// Settings, defaults of the list included.
    pub settings: PairSettings,
}

/// A list of pairs.
#[derive(Debug, Clone, PartialEq)]
pub struct PairList {
    /// Where it came from.
    pub path: PathBuf,
    /// Pairs in order.
    pub pairs: Vec<PairSpec>,
    /// The traces that are not there from the folder of the list, but from the current folder.
    pub from_current_folder: Vec<PathBuf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a map with the key pairs")]
struct ListFile {
    #[serde(default)]
    defaults: Option<PairSettings>,
    pairs: Vec<PairFile>,
}

/// One field per key: `deny_unknown_fields` and `flatten` do not go together.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a map with the keys trace1 and trace2")]
struct PairFile {
    name: Option<String>,
    trace1: String,
    trace2: String,
    output: Option<String>,
    phase: Option<PhaseFilter>,
    max_stacks: Option<usize>,
    no_stacks: Option<bool>,
    aligned: Option<bool>,
    full: Option<bool>,
    layers: Option<bool>,
    format: Option<Format>,
    threshold_ms: Option<f64>,
    label1: Option<String>,
    label2: Option<String>,
}

impl PairList {
    /// Reads a list.
    ///
    /// # Errors
    /// When the file cannot be read, is no list, or has keys it should not have.
    pub fn open(path: impl AsRef<Path>) -> Result<PairList, Error> {
        let path = path.as_ref();
        let text = Source::open(path)?.read_text()?;
        let file: ListFile = perfdb_pycompat::yaml::from_str(&text).map_err(|source| Error::yaml(path, &source))?;
        let defaults = file.defaults.unwrap_or_default();
        let mut from_current_folder = Vec::new();
        let mut follow = |trace: &str| {
            let led = led_by(path, Path::new(trace));
            from_current_folder.extend(led.is_from_current_folder.then(|| led.path.clone()));
            led.path
        };
        let pairs: Vec<PairSpec> = file.pairs.into_iter().map(|pair| pair.spec(&mut follow, &defaults)).collect();
        let list = PairList { path: path.to_path_buf(), pairs, from_current_folder };
        match list.pairs.iter().find(|pair| pair.output.is_none() && !stays_inside(&pair.name)) {
            Some(pair) => Err(list.error(format!(
                "the name {:?} leads out of the folder of outputs: names are plain, `output` says where else a result goes",
                pair.name
            ))),
            None => Ok(list),
        }
    }

    /// An error about this list.
    pub fn error(&self, reason: impl Into<String>) -> Error {
        Error::pairs(&self.path, reason)
    }

    /// Checks that no two pairs write the same file; `outputs` in order of the pairs.
    ///
    /// # Errors
    /// Names the first two pairs that do.
    pub fn check_outputs(&self, outputs: &[PathBuf]) -> Result<(), Error> {
        let places: Vec<PathBuf> = outputs.iter().map(|output| plain(output)).collect();
        for (at, place) in places.iter().enumerate() {
            if let Some(before) = places[..at].iter().position(|known| known == place) {
                let names = [before, at].map(|at| self.pairs.get(at).map_or("", |pair| pair.name.as_str()));
                let output = outputs[at].display();
                return Err(self.error(format!("the pairs {} and {} both write {output}", names[0], names[1])));
            }
        }
        Ok(())
    }
}

/// Whether a file of that name lies below the folder in which it is written.
fn stays_inside(name: &str) -> bool {
    use std::path::Component;
    let mut components = Path::new(name).components().peekable();
    components.peek().is_some() && components.all(|component| matches!(component, Component::Normal(_)))
}

/// The path without `.`, and without `x/..`.
fn plain(path: &Path) -> PathBuf {
    use std::path::Component;
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let mut parts = PathBuf::new();
    for component in absolute.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                parts.pop();
            }
            component => parts.push(component),
        }
    }
    parts
}

impl PairFile {
    fn spec(self, follow: &mut impl FnMut(&str) -> PathBuf, defaults: &PairSettings) -> PairSpec {
        let settings = PairSettings {
            phase: self.phase,
            max_stacks: self.max_stacks,
            no_stacks: self.no_stacks,
            aligned: self.aligned,
            full: self.full,
            layers: self.layers,
            format: self.format,
            threshold_ms: self.threshold_ms,
            label1: self.label1,
            label2: self.label2,
        };
        let name = self.name.unwrap_or_else(|| format!("{}_vs_{}", stem(&self.trace1), stem(&self.trace2)));
        PairSpec {
            name,
            paths: [follow(&self.trace1), follow(&self.trace2)],
            traces: [self.trace1, self.trace2],
            output: self.output,
            settings: settings.or(defaults),
        }
    }
}

/// File name without `.gz` and `.json`.
fn stem(path: &str) -> String {
    let name = Path::new(path).file_name().map_or_else(|| path.into(), |name| name.to_string_lossy());
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.strip_suffix(".json").unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stems_lose_their_endings() {
        for (path, expected) in [
            ("a/b.json.gz", "b"),
            ("b.json", "b"),
            ("b.gz", "b"),
            ("b.json.json", "b.json"),
            ("b", "b"),
            ("x.trace", "x.trace"),
        ] {
            assert_eq!(stem(path), expected);
        }
    }

    #[test]
    fn names_stay_in_the_folder_of_outputs() {
        for name in ["a_vs_b", "a/b", "a..b", "..."] {
            assert!(stays_inside(name), "{name}");
        }
        for name in ["../x", "a/../../x", "/tmp/x", "..", ".", "", "./x"] {
            assert!(!stays_inside(name), "{name}");
        }
    }

    #[test]
    fn same_places_are_seen_through_dots() {
        let list = PairList { path: "list.yaml".into(), pairs: Vec::new(), from_current_folder: Vec::new() };
        let outputs = |texts: &[&str]| texts.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert!(list.check_outputs(&outputs(&["a.json", "./b.json", "c/a.json"])).is_ok());
        assert!(list.check_outputs(&outputs(&["a.json", "c/.././a.json"])).is_err());
    }
}
