//! One file of a case is mutated, the tool is run, and what it leaves is looked at.

use crate::reliability::Error;
use crate::reliability::cases::Case;
use crate::reliability::draws::Draws;
use crate::reliability::files::{self, Entry, Files};
use crate::reliability::findings::Tally;
use crate::reliability::mutations::mutate;
use crate::reliability::program::{Ended, Limits, Line, Outcome, Program};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tempfile::TempDir;

/// Everything that runs need.
#[derive(Debug)]
pub struct Mutated {
    program: Program,
    cases: BTreeMap<String, Vec<Case>>,
    tools: Vec<String>,
    limits: Limits,
    usual: Mutex<BTreeMap<String, Arc<Usual>>>,
}

/// What a case does when nothing is mutated.
#[derive(Debug)]
struct Usual {
    ended: Ended,
    /// Paths that are new or changed, and the folders around them.
    places: BTreeSet<PathBuf>,
    changed: BTreeSet<PathBuf>,
}

/// A run: the case, the file, what was done to it.
#[derive(Debug)]
pub(crate) struct Run<'c> {
    case: &'c Case,
    file: PathBuf,
    mutations: Vec<&'static str>,
    before: Files,
}

impl Run<'_> {
    /// What is run.
    pub(crate) fn line(&self) -> &Line {
        &self.case.line
    }

    /// What is there, with the mutated file.
    pub(crate) fn before(&self) -> &Files {
        &self.before
    }

    /// The case, its command line, and what was done to which file.
    pub(crate) fn described(&self) -> String {
        let line = self.case.line.words.join(" ");
        let case = if self.case.name == line { String::new() } else { format!("{}: ", self.case.name) };
        format!("{case}{line}\n    {}: {}", self.file.display(), self.mutations.join(", "))
    }
}

impl Mutated {
    /// All cases, for these tools or for all of them.
    pub fn new(program: Program, limits: Limits, tools: &[String]) -> Result<Mutated, Error> {
        let mut cases = crate::reliability::cases::all()?;
        cases.retain(|tool, _| tools.is_empty() || tools.contains(tool));
        for cases in cases.values_mut() {
            cases.retain(|case| !(case.named.is_empty() && case.others.is_empty()));
        }
        cases.retain(|_, cases| !cases.is_empty());
        if cases.is_empty() {
            return Err("this tool has no case".into());
        }
        let tools = cases.keys().cloned().collect();
        Ok(Mutated { program, cases, tools, limits, usual: Mutex::default() })
    }

    /// How many tools and cases there are.
    pub fn size(&self) -> (usize, usize) {
        (self.tools.len(), self.cases.values().map(Vec::len).sum())
    }

    /// Runs every case as it is: `(milliseconds, name, how it ended)`.
    pub fn unmutated(&self) -> Result<Vec<(u128, String, Ended)>, Error> {
        let mut found = Vec::new();
        for case in self.cases.values().flatten() {
            let started = std::time::Instant::now();
            let folder = Folder::new(&case.files)?;
            let outcome = self.program.run(&case.line, &folder.inner, self.limits)?;
            found.push((started.elapsed().as_millis(), case.name.clone(), outcome.ended));
        }
        found.sort();
        Ok(found)
    }

    /// The run of this number.
    pub(crate) fn draw(&self, seed: u64, number: u64) -> Run<'_> {
        let mut draws = Draws::of(seed, number);
        let tool = draws.one_of(&self.tools);
        let case = draws.one_of(&self.cases[tool]);
        let pool = match (case.named.as_slice(), case.others.as_slice()) {
            ([], others) => others,
            (named, []) => named,
            (named, others) => {
                if draws.one_in(5) {
                    others
                } else {
                    named
                }
            }
        };
        let file = draws.one_of(pool).clone();
        let mut before = case.files.clone();
        let mut mutations = Vec::new();
        if let Some(Entry::File(bytes)) = before.get_mut(&file) {
            mutations = mutate(bytes, &mut draws);
        }
        Run { case, file, mutations, before }
    }

    /// Makes the run of this number. What is found goes to the tally; the folder of a finding is copied to `keep`.
    pub fn run(&self, seed: u64, number: u64, tally: &Tally, keep: Option<&Path>) -> Result<(), Error> {
        let run = self.draw(seed, number);
        let usual = self.usual(run.case)?;
        let folder = Folder::new(&run.before)?;
        let outcome = self.program.run(&run.case.line, &folder.inner, self.limits)?;
        let after = files::read(&folder.inner)?;
        let mut wrong = wrong_with(&run, &usual, &outcome, &after);
        let outside = files::read(folder.outer.path())?;
        wrong.extend(
            outside
                .keys()
                .filter(|path| !path.starts_with("case"))
                .map(|path| format!("{} is outside the folder", path.display())),
        );
        tally.count(format!("{} of {}", outcome.ended, run.case.line.tool()));
        tally.count(outcome.ended.to_string());
        for what in &wrong {
            tally.found(number, format!("{what}\n    {}", run.described()));
        }
        if let Some(keep) = keep.filter(|_| !wrong.is_empty()) {
            let keep = keep.join(number.to_string());
            files::write(&run.before, &keep.join("before"))?;
            files::write(&after, &keep.join("after"))?;
            std::fs::write(keep.join("stdout"), &outcome.stdout)?;
            std::fs::write(keep.join("stderr"), &outcome.stderr)?;
        }
        Ok(())
    }

    fn usual(&self, case: &Case) -> Result<Arc<Usual>, Error> {
        if let Some(usual) = self.usual.lock().unwrap_or_else(PoisonError::into_inner).get(&case.name) {
            return Ok(Arc::clone(usual));
        }
        let folder = Folder::new(&case.files)?;
        let outcome = self.program.run(&case.line, &folder.inner, self.limits)?;
        let after = files::read(&folder.inner)?;
        let changed: BTreeSet<PathBuf> =
            files::changed(&folder.before, &after).into_iter().map(Path::to_owned).collect();
        let places = changed.iter().map(|path| path.parent().unwrap_or(Path::new("")).to_owned()).collect();
        let usual = Arc::new(Usual { ended: outcome.ended, places, changed });
        self.usual.lock().unwrap_or_else(PoisonError::into_inner).insert(case.name.clone(), Arc::clone(&usual));
        Ok(usual)
    }
}

/// A folder within a folder, so that what is written beside it is seen.
struct Folder {
    outer: TempDir,
    inner: PathBuf,
    before: Files,
}

impl Folder {
    fn new(files: &Files) -> Result<Folder, Error> {
        let outer = TempDir::new()?;
        let inner = outer.path().canonicalize()?.join("case/in");
        files::write(files, &inner)?;
        let before = files::read(&inner)?;
        Ok(Folder { outer, inner, before })
    }
}

/// Tools that keep what they have measured when something fails behind it, and say in a file how far they came.
const KEEP_RESULTS: [&str; 2] = ["op-replay", "run-all-op"];

/// Tools that work on tables which are there, and never take rows out of them unless they are asked to.
const ADD_ROWS: [&str; 5] =
    ["audit-coverage", "fill-fia-runtime-metadata", "generate-shape-grid", "merge-databases", "start-microbench"];

/// Everything that must hold after a run, and does not.
fn wrong_with(run: &Run<'_>, usual: &Usual, outcome: &Outcome, after: &Files) -> Vec<String> {
    let mut wrong = Vec::new();
    let status = match outcome.ended {
        Ended::Exit(status @ 0..=3) => Some(status),
        other if other == usual.ended => None,
        other => {
            wrong.push(format!("ended by {other}: {}", last_line(&outcome.stderr)));
            None
        }
    };
    if outcome.stderr.contains("panicked at") {
        wrong.push(format!("panicked: {}", last_line(&outcome.stderr)));
    }
    let before = with_folders(&run.before);
    let changed = files::changed(&before, after);
    let left: Vec<&&Path> = changed.iter().filter(|path| files::is_left_over(path)).collect();
    if !left.is_empty() {
        wrong.push(format!("left behind: {left:?}"));
    }
    match status {
        Some(1 | 2) => {
            let tool = run.case.line.tool();
            // What FAILED says is a result, not a failure.
            let has_verdict = tool == "validate-comm-alignment" && !outcome.stdout.is_empty();
            if !has_verdict && !outcome.stderr.lines().any(|line| line.contains("error: ")) {
                wrong.push("failed without an error: line".to_owned());
            }
            // Each pair has results of its own.
            let keeps_results =
                KEEP_RESULTS.contains(&tool) || run.case.line.words.iter().any(|word| word == "--pairs");
            if !changed.is_empty() && !keeps_results {
                wrong.push(format!("failed, and changed {changed:?}"));
            }
        }
        Some(_) => {
            wrong.extend(changed.iter().filter_map(|path| wrong_with_output(run, usual, path, after.get(*path))))
        }
        None => {}
    }
    wrong
}

fn last_line(text: &str) -> &str {
    text.lines().rfind(|line| line.contains("error") || line.contains("panicked")).or(text.lines().last()).unwrap_or("")
}

/// The files, and the folders in which they lie.
fn with_folders(files: &Files) -> Files {
    let mut all = files.clone();
    for path in files.keys() {
        for folder in path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()) {
            all.entry(folder.to_owned()).or_insert(Entry::Folder);
        }
    }
    all
}

/// What is wrong with a file that a run which succeeded has made or changed.
fn wrong_with_output(run: &Run<'_>, usual: &Usual, path: &Path, entry: Option<&Entry>) -> Option<String> {
    let shown = path.display();
    let Some(entry) = entry else { return Some(format!("{shown} is gone")) };
    let Entry::File(bytes) = entry else { return None };
    let old = match run.before.get(path) {
        Some(Entry::File(old)) => Some(old),
        _ => None,
    };
    // A folder that the command line names, a database, may get tables of other names.
    let is_named = run.case.line.words.iter().any(|word| path.parent() == Some(Path::new(word.trim_end_matches('/'))));
    let is_below =
        |place: &PathBuf| path.parent() == Some(place) || !place.as_os_str().is_empty() && path.starts_with(place);
    // Nothing is known of a case that usually fails.
    let is_known = matches!(usual.ended, Ended::Exit(0 | 3));
    if is_known && !is_named && !usual.changed.contains(path) && !usual.places.iter().any(is_below) {
        return Some(format!("{shown} is written, which is usually not"));
    }
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("json") => {
            // As Python writes it, with NaN; answers to several questions are a document on a line each.
            let error = perfdb_trace::json::parse(bytes).err()?;
            let lines = || bytes.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
            if lines().all(|line| perfdb_trace::json::parse(line).is_ok()) {
                return None;
            }
            Some(format!("{shown} is no JSON: {error}"))
        }
        // A table that is copied as it is.
        Some("csv") if old.is_none() && run.before.values().any(|input| input == entry) => None,
        Some("csv") if old.is_none() => {
            // Rows that are kept aside or cut out stay as they were, whatever they are.
            let are_copied = shown.to_string().ends_with(".dropped.csv") || run.case.line.tool() == "cut-forward-pass";
            let mut reader = csv::ReaderBuilder::new().flexible(are_copied).from_reader(bytes.as_slice());
            let error = reader.byte_records().find_map(Result::err)?;
            Some(format!("{shown} is no table: {error}"))
        }
        Some("csv") if ADD_ROWS.contains(&run.case.line.tool()) => {
            let (rows, now) = (rows(old.map_or(&[], Vec::as_slice)), rows(bytes));
            let may_drop = run.case.line.words.iter().any(|word| word.contains("prune"));
            (now < rows && !may_drop).then(|| format!("{shown} had {rows} rows and has {now}"))
        }
        Some("html") => (!bytes.trim_ascii_end().ends_with(b"</html>")).then(|| format!("{shown} has no end")),
        _ => None,
    }
}

fn rows(bytes: &[u8]) -> usize {
    csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes).byte_records().count()
}
