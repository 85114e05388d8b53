//! `database.toml`.

use crate::provenance::{Error, Identity, Versions};
use perfdb_files::input::{self, Kind, LARGEST_TEXT_BYTES};
use perfdb_files::paths::within;
use perfdb_files::replace::{Parents, Staged};
use perfdb_files::time::compare_dates;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::io::ErrorKind;
use std::path::Path;

/// Name of the file beside the tables.
pub const FILE_NAME: &str = "database.toml";

const FORMAT_VERSION: u32 = 1;
const HEADING: &str = "# Where the durations of this database come from. Tools of perfdb rewrite it, without comments; nothing needs it.\n";

/// What `database.toml` holds. Keys that are not known here are kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    format_version: u32,
    /// The device, as it is named below the data root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// The versions.
    #[serde(default, skip_serializing_if = "is_default")]
    pub versions: Versions,
    #[serde(default, rename = "run", skip_serializing_if = "Vec::is_empty")]
    runs: Vec<Run>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rows: Vec<DatedRows>,
    #[serde(flatten)]
    other: toml::Table,
}

/// Rows of a kernel type that were measured at another time than the last run that measured it. A merge brings rows of several times together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct DatedRows {
    /// The kernel type.
    pub kernel_type: String,
    /// When they were measured, ISO 8601; empty where nobody knows.
    pub date: String,
    /// The date of the last run that measured the kernel type when this was written: after a later run these dates do not count.
    pub last_run: String,
    /// Their identities, `crate::row_identity`; from the second of equal rows on with `#` and a number.
    pub rows: Vec<String>,
}

/// A run that measured or merged.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// When, ISO 8601.
    pub date: String,
    /// The tool.
    pub tool: String,
    /// Its version.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tool_version: String,
    /// Who.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The kernel types whose durations it wrote.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
    /// The databases that a merge took rows from; of a run that measured there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<String>,
    /// How it measured.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    #[serde(flatten)]
    other: toml::Table,
}

fn is_default(versions: &Versions) -> bool {
    *versions == Versions::default()
}

impl Default for Record {
    fn default() -> Self {
        Record {
            format_version: FORMAT_VERSION,
            device: None,
            versions: Versions::default(),
            runs: Vec::new(),
            rows: Vec::new(),
            other: toml::Table::new(),
        }
    }
}

impl Run {
    /// A run of a tool at a time.
    pub fn new(date: impl Into<String>, tool: impl Into<String>) -> Run {
        Run { date: date.into(), tool: tool.into(), ..Run::default() }
    }
}

impl Record {
    /// Reads the record of a database; `None` if it has none.
    ///
    /// # Errors
    /// When the file cannot be read or is no record.
    pub fn load(directory: &Path) -> Result<Option<Record>, Error> {
        let path = within(directory, FILE_NAME);
        match input::read_text(&path, Kind::RegularFile, LARGEST_TEXT_BYTES) {
            Ok(text) => Record::parse(&path, &text).map(Some),
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) && !path.is_symlink() =>
            {
                Ok(None)
            }
            Err(error) => Err(perfdb_files::Error::io(path, error).into()),
        }
    }

    /// Reads a record; `path` is for messages.
    ///
    /// # Errors
    /// When the text is no TOML, or a known key has a value of another kind.
    pub fn parse(path: &Path, text: &str) -> Result<Record, Error> {
        let record: Record = toml::from_str(text).map_err(|error| {
            let before = error.span().map_or(0, |span| span.start.min(text.len()));
            let line = text.as_bytes()[..before].iter().filter(|byte| **byte == b'\n').count() + 1;
            let reason = error.message().lines().collect::<Vec<_>>().join(" ");
            Error::Malformed { path: path.to_owned(), line, reason }
        })?;
        match record.format_version {
            FORMAT_VERSION => Ok(record),
            found => Err(Error::FormatVersion { path: path.to_owned(), found }),
        }
    }

    /// The text of the file.
    ///
    /// # Errors
    /// When a key that is not known here holds what TOML cannot write.
    pub fn to_text(&self) -> Result<String, Error> {
        let text = toml::to_string(self).map_err(|error| Error::Unwritable(error.to_string()))?;
        Ok(format!("{HEADING}{text}"))
    }

    /// Stages the file of a database, to be replaced with its tables.
    ///
    /// # Errors
    /// As [`to_text`](Self::to_text), and when the system refuses to write.
    pub fn stage(&self, directory: &Path) -> Result<Staged, Error> {
        Ok(Staged::description(&within(directory, FILE_NAME), Parents::MustExist)?
            .filled(self.to_text()?.as_bytes())?)
    }

    /// Stages the file of a database with a run added to it, to be replaced with its tables; nothing for a run that wrote no kernel type.
    /// Device and versions are those of `known`, else those that the path of the database tells. To be called under the lock of the
    /// database.
    ///
    /// # Errors
    /// As [`load`](Self::load) and [`stage`](Self::stage).
    pub fn stage_run(directory: &Path, known: Identity, run: Run) -> Result<Option<Staged>, Error> {
        if run.types.is_empty() {
            return Ok(None);
        }
        let mut record = Record::load(directory)?.unwrap_or_default();
        record.identify(known.or(Identity::of_path(directory)));
        record.add_part(run);
        record.stage(directory).map(Some)
    }

    /// The runs, the oldest first.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The device and the versions.
    pub fn identity(&self) -> Identity {
        Identity { device: self.device.clone(), versions: self.versions.clone() }
    }

    /// Takes over what is known of device and versions and does not stand here yet.
    pub fn identify(&mut self, identity: Identity) {
        let Identity { device, versions } = self.identity().or(identity);
        (self.device, self.versions) = (device, versions);
    }

    /// Adds a run at its place by date. One that stands here already is not added again.
    pub fn add(&mut self, run: Run) {
        if !self.runs.contains(&run) {
            let key = |run: &Run| (run.date.clone(), run.tool.clone(), run.types.clone());
            let at = self.runs.partition_point(|known| key(known) <= key(&run));
            self.runs.insert(at, run);
        }
    }

    /// Adds what a part of a run wrote: parts that differ in their types alone are one run.
    fn add_part(&mut self, mut run: Run) {
        let is_same = |known: &Run| Run { types: run.types.clone(), ..known.clone() } == run;
        if let Some(at) = self.runs.iter().position(is_same) {
            let known = self.runs.remove(at).types;
            run.types.retain(|name| !known.contains(name));
            run.types.splice(0..0, known);
        }
        self.add(run);
    }

    /// Takes over the runs, and what stands in unknown keys that are not here, of another record.
    pub fn unite(&mut self, other: &Record) {
        other.runs.iter().cloned().for_each(|run| self.add(run));
        for (key, value) in &other.other {
            self.other.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }

    /// The dates of rows of a kernel type that have another date than its last run, by the name of the row; empty where nobody knows.
    pub fn row_dates(&self, kernel_type: &str) -> HashMap<&str, &str> {
        let last = self.date_of(kernel_type);
        let is_older =
            |one: &&DatedRows| last.is_some_and(|last| compare_dates(last, &one.last_run) == Ordering::Greater);
        let of_type = self.rows.iter().filter(|one| one.kernel_type == kernel_type && !is_older(one));
        of_type.flat_map(|one| one.rows.iter().map(|row| (row.as_str(), one.date.as_str()))).collect()
    }

    /// Replaces what is said of single rows of a kernel type: names of rows by their date.
    pub fn set_row_dates(&mut self, kernel_type: &str, last_run: &str, rows: BTreeMap<String, Vec<String>>) {
        self.rows.retain(|one| one.kernel_type != kernel_type);
        let dated =
            |(date, rows)| DatedRows { kernel_type: kernel_type.to_owned(), date, last_run: last_run.to_owned(), rows };
        self.rows.extend(rows.into_iter().map(dated));
        self.rows.sort_by(|a, b| (&a.kernel_type, &a.date).cmp(&(&b.kernel_type, &b.date)));
    }

    /// The date of the last run that measured a kernel type; merging is no measuring.
    pub fn date_of(&self, kernel_type: &str) -> Option<&str> {
        let measured = |run: &&Run| run.from.is_empty() && run.types.iter().any(|name| name == kernel_type);
        self.runs.iter().filter(measured).map(|run| run.date.as_str()).max_by(|a, b| compare_dates(a, b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn run(date: &str, types: &[&str]) -> Run {
        Run {
            date: date.to_owned(),
            tool: "t".to_owned(),
            types: types.iter().map(|name| (*name).to_owned()).collect(),
            ..Run::default()
        }
    }

    #[test]
    fn unknown_keys_are_kept_and_faults_are_placed() -> Result<(), Error> {
        let path = Path::new("db/database.toml");
        let text = "format_version = 1\nroom = \"cold\"\n[versions]\ncann = \"8.5\"\n[[run]]\ndate = \"2026\"\ntool = \"x\"\nclock = 3\n";
        let record = Record::parse(path, text)?;
        let written = record.to_text()?;
        assert!(written.contains("room = \"cold\"") && written.contains("clock = 3"), "{written}");
        assert_eq!(Record::parse(path, &written)?, record);
        let message = |text: &str| Record::parse(path, text).map_err(|error| error.to_string());
        let error = message("format_version = 1\ndevice = 3\n").unwrap_err();
        assert!(error.starts_with("db/database.toml:2: ") && !error.contains('\n'), "{error}");
        assert!(message("format_version = 2\n").unwrap_err().contains("format_version 2 is not known"));
        assert!(message("format_version = 1\n[[run]\n").unwrap_err().starts_with("db/database.toml:2: "));
        Ok(())
    }

    #[test]
    fn the_last_measurement_of_a_type_counts_and_merging_is_none() {
        let mut record = Record::default();
        record.add(run("2026-02", &["Add"]));
        record.add(run("2026-01", &["Add", "Mul"]));
        record.add(Run { from: vec!["other".to_owned()], ..run("2026-03", &["Add"]) });
        assert_eq!(
            (record.date_of("Add"), record.date_of("Mul"), record.date_of("Sub")),
            (Some("2026-02"), Some("2026-01"), None)
        );
        let dates: Vec<&str> = record.runs().iter().map(|run| run.date.as_str()).collect();
        assert_eq!(dates, ["2026-01", "2026-02", "2026-03"]);
    }

    #[test]
    fn parts_of_a_run_are_one_run() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        for (date, types) in
            [("2026-01", &["Mul"]), ("2026-01", &["Add"]), ("2026-01", &["Mul"]), ("2026-02", &["Add"])]
        {
            let staged = Record::stage_run(folder.path(), Identity::default(), run(date, types))?;
            perfdb_files::replace::commit(staged.into_iter().collect())?;
        }
        assert!(Record::stage_run(folder.path(), Identity::default(), run("2026-03", &[]))?.is_none());
        let record = Record::load(folder.path())?.ok_or("a record")?;
        assert_eq!(record.runs(), [run("2026-01", &["Mul", "Add"]), run("2026-02", &["Add"])]);
        Ok(())
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_and_uniting_twice_is_uniting_once(
            runs in prop::collection::vec(("[0-9-]{0,10}", "\\PC{0,8}", prop::collection::vec("[A-Z\"\\\\\n]{1,4}", 0..3)), 0..5),
            others in prop::collection::vec(("[0-9-]{0,10}", "\\PC{0,8}"), 0..5),
        ) {
            let mut record = Record::default();
            for (date, by, types) in runs {
                let types: Vec<&str> = types.iter().map(String::as_str).collect();
                record.add(Run { by: Some(by), ..run(&date, &types) });
            }
            let written = record.to_text().unwrap();
            prop_assert_eq!(&Record::parse("x".as_ref(), &written).unwrap(), &record);
            let mut other = Record::default();
            others.into_iter().for_each(|(date, by)| other.add(Run { by: Some(by), ..run(&date, &[]) }));
            record.unite(&other);
            let once = record.clone();
            record.unite(&other);
            prop_assert_eq!(record, once);
        }
    }

    #[test]
    fn only_a_regular_file_is_read() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        std::os::unix::fs::symlink("/dev/null", folder.path().join(FILE_NAME))?;
        let error = Record::load(folder.path()).err().ok_or("a device is read")?;
        assert!(error.to_string().ends_with("database.toml: is a device, not a regular file"), "{error}");
        std::fs::remove_file(folder.path().join(FILE_NAME))?;
        assert_eq!(Record::load(folder.path())?, None);
        std::os::unix::fs::symlink("nowhere", folder.path().join(FILE_NAME))?;
        assert!(Record::load(folder.path()).is_err(), "a link that leads nowhere is not a missing record");
        Ok(())
    }
}
