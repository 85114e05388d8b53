//! One rank: the collectives of its trace, and the parts of its time.

use std::path::{Path, PathBuf};

use crate::{LoadOptions, Trace};
use perfdb_trace::profile;
use perfdb_trace::time::Picoseconds;

use crate::ranks::error::Error;
use crate::ranks::groups::Groups;

/// One rank of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Rank {
    /// Its number.
    pub rank: u32,
    /// Its trace.
    pub path: PathBuf,
    /// Number of ranks of the run, if the trace says.
    pub world_size: Option<u32>,
    /// Its collectives by start, on its own clock.
    pub calls: Vec<Call>,
    /// What its time went into.
    pub parts: PartsPerStep,
}

/// A collective on one rank.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Class of the kernel: `All-Reduce`, `All-Gather` …
    pub kind: String,
    /// Name and ranks of the process group; empty where the trace does not say.
    pub group: String,
    /// The kernel that started last before it, if any.
    pub before: String,
    /// Number of the step that it belongs to.
    pub step: Option<u32>,
    /// Start.
    pub start: Picoseconds,
    /// End.
    pub end: Picoseconds,
}

/// What the time of a rank went into, in ms per step (of the whole where steps are not known).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PartsPerStep {
    /// Number of steps; 0 where they are not known.
    pub steps: u64,
    /// All of the time.
    pub elapsed_ms: f64,
    /// A kernel ran that does not communicate.
    pub compute_ms: f64,
    /// Only kernels ran that communicate.
    pub exposed_communication_ms: f64,
    /// Only copies ran.
    pub exposed_copies_ms: f64,
    /// Nothing ran, because the host launched too late.
    pub host_late_ms: f64,
    /// Nothing ran for another reason.
    pub device_idle_ms: f64,
}

impl Rank {
    /// Reads the trace of a rank. `fallback` is its number where neither the trace nor the name of the file has one.
    ///
    /// # Errors
    /// When the trace cannot be read or has no collective.
    pub fn open(path: &Path, fallback: u32, options: &LoadOptions) -> Result<Rank, Error> {
        let groups = groups(path).map_err(crate::Error::from)?;
        let trace = Trace::open(path, options)?;
        let calls: Vec<Call> = trace
            .collectives()
            .into_iter()
            .map(|call| Call {
                kind: call.class.to_owned(),
                group: groups.of_events.get(&u64::from(call.index)).cloned().unwrap_or_default(),
                before: call.before.to_owned(),
                step: call.pass,
                start: call.start,
                end: call.end,
            })
            .collect();
        if calls.is_empty() {
            return Err(Error::NoCollectives { path: path.to_owned() });
        }
        let rank = groups.rank.or_else(|| number_in_name(path)).unwrap_or(fallback);
        Ok(Rank { rank, path: path.to_owned(), world_size: groups.world_size, calls, parts: parts(&trace) })
    }
}

/// What a JSON trace says about ranks; Ascend's folder has the number of the rank in the name of a file, other profiles say nothing.
fn groups(path: &Path) -> Result<Groups, perfdb_trace::Error> {
    if path.is_dir() {
        return Ok(Groups { rank: number_in_folder(path), ..Groups::default() });
    }
    match profile::form(path)? {
        Some(_) => Ok(Groups::default()),
        None => Groups::read(path),
    }
}

/// The rank in a folder of Ascend's profiler: `profiler_info_3.json`.
fn number_in_folder(path: &Path) -> Option<u32> {
    let names = std::fs::read_dir(path).ok()?.filter_map(Result::ok).map(|entry| entry.file_name());
    let number = |name: &str| name.strip_prefix("profiler_info_")?.strip_suffix(".json")?.parse().ok();
    names.filter_map(|name| number(name.to_str()?)).min()
}

fn parts(trace: &Trace) -> PartsPerStep {
    let Some(elapsed) = trace.elapsed() else { return PartsPerStep::default() };
    let steps = elapsed.passes.max(1) as f64;
    let parts = elapsed.parts_ms;
    PartsPerStep {
        steps: if elapsed.windows.iter().any(|window| window.pass.is_some()) { elapsed.passes } else { 0 },
        elapsed_ms: elapsed.per_pass_ms,
        compute_ms: parts.compute_ms / steps,
        exposed_communication_ms: parts.exposed_communication_ms / steps,
        exposed_copies_ms: parts.exposed_copies_ms / steps,
        host_late_ms: parts.host_late_ms / steps,
        device_idle_ms: parts.device_idle_ms / steps,
    }
}

/// The number behind `rank` or `worker` in the name of a file: `rank3`, `rank-3`, `worker_3`.
fn number_in_name(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_string_lossy().to_lowercase();
    ["rank", "worker"].iter().find_map(|word| {
        name.match_indices(word).find_map(|(at, _)| {
            let rest = name[at + word.len()..].trim_start_matches(['-', '_', '.']);
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            digits.parse().ok()
        })
    })
}

/// Ends of the names of traces and profiles that a folder is searched for.
const ENDS: [&str; 5] = [".json", ".json.gz", ".sqlite", ".rpd", ".db"];
/// The end of the name of a folder that Ascend's profiler wrote: one rank.
const ASCEND: &str = "_ascend_pt";

/// The traces of a file or a folder: of a folder the JSON traces, the databases of nsys and ROCm, and the folders of Ascend's profiler, by
/// name. Reports of nsys count where there is nothing else: opening them says how to export them.
pub(crate) fn traces_in(path: &Path) -> std::io::Result<Vec<PathBuf>> {
    let ends_in = |path: &Path, end: &str| path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(end));
    if !std::fs::metadata(path)?.is_dir() || ends_in(path, ASCEND) {
        return Ok(vec![path.to_owned()]);
    }
    let (mut inside, mut reports) = (Vec::new(), Vec::new());
    for entry in std::fs::read_dir(path)? {
        let entry = entry?.path();
        if entry.is_file() && ENDS.iter().any(|end| ends_in(&entry, end)) || entry.is_dir() && ends_in(&entry, ASCEND) {
            inside.push(entry);
        } else if entry.is_file() && profile::is_nsys_report(&entry) {
            reports.push(entry);
        }
    }
    let mut inside = if inside.is_empty() { reports } else { inside };
    inside.sort();
    Ok(inside)
}

/// The traces of files and folders: of a folder the JSON traces, the databases of nsys and ROCm, and the folders of Ascend's profiler, by name.
///
/// # Errors
/// When a file is not there, a folder cannot be read, or there are fewer than two traces in all.
pub fn find_traces(given: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    for path in given {
        found.append(&mut traces_in(path).map_err(|source| Error::Given { path: path.clone(), source })?);
    }
    if found.len() < 2 {
        let given = given.iter().map(|path| perfdb_files::escape::shown(path)).collect::<Vec<_>>().join(", ");
        return Err(Error::TooFew { given, count: found.len() });
    }
    Ok(found)
}

/// Puts ranks in the order of their numbers.
pub(crate) fn number(ranks: &mut [Rank]) -> Result<(), Error> {
    ranks.sort_by_key(|rank| rank.rank);
    match ranks.windows(2).find(|pair| pair[0].rank == pair[1].rank) {
        Some([first, second]) => {
            Err(Error::SameRank { rank: first.rank, first: first.path.clone(), second: second.path.clone() })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{find_traces, number_in_name};
    use std::path::Path;

    #[test]
    fn names_of_files_have_the_rank() {
        for (name, expected) in [
            ("dlrm_rank1.json.gz", Some(1)),
            ("rank-34.Jul_15.pt.trace.json", Some(34)),
            ("run/worker0_step_12.json", Some(0)),
            ("Rank.7.json", Some(7)),
            ("ranks.json", None),
            ("trace.json", None),
        ] {
            assert_eq!(number_in_name(Path::new(name)), expected, "{name}");
        }
    }

    #[test]
    fn one_trace_is_too_few() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.json");
        let error = |path: &Path| find_traces(&[path.to_owned()]).expect_err("too few").to_string();
        assert_eq!(error(&path), format!("{}: No such file or directory (os error 2)", path.display()));
        std::fs::write(&path, "{}").expect("a file");
        assert_eq!(error(&path), format!("{}: traces of two ranks or more are needed, there is 1", path.display()));
    }
}
