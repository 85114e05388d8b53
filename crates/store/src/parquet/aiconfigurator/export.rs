//! Databases in the layout that AIConfigurator reads: `SYSTEM/FAMILY/FRAMEWORK/VERSION/OPERATOR_perf.parquet`.
//!
//! Tables that were imported have all their columns again, with the durations of the database. Rows of other databases, of traces for example,
//! get theirs from shapes and types: products, attention and collectives. The deviation of a row stands in `latency_std`, which AIConfigurator
//! passes over and an import takes.

mod made;
mod theirs;

use super::sizes::{Timing, is_text};
use super::source::{SourceTable, family, is_family};
use crate::directory::{tables_below, tables_in};
use crate::parquet::database::Target;
use crate::parquet::error::Error;
use crate::parquet::write::open;
use crate::registry::{KernelClass, Registry, TableType};
use crate::table::{ReadOptions, Table};
use made::Made;
use perfdb_files::lock::LockOptions;
use perfdb_files::replace::{Parents, Staged};
use perfdb_files::tables::{Batch, Kind, Schema, Values};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use theirs::Theirs;

pub(super) use theirs::PREFIX;

/// What was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exported {
    /// Database directories.
    pub databases: usize,
    /// Tables there: one for each operator.
    pub tables: usize,
    /// Their rows.
    pub rows: usize,
    /// Rows that no table there takes, by table.
    pub left_out: BTreeMap<String, usize>,
}

/// Where a database stands there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The folder of the device: `h100_sxm`.
    pub system: String,
    /// `vllm`, `sglang`, `trtllm`, `nccl` or `oneccl`.
    pub framework: String,
    /// The framework's version.
    pub version: String,
}

/// The folders of frameworks that AIConfigurator looks for.
const FRAMEWORKS: [&str; 5] = ["vllm", "sglang", "trtllm", "nccl", "oneccl"];

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Place, String> {
        let parts: Vec<&str> = text.split('/').collect();
        let [system, framework, version] = parts.as_slice() else {
            return Err("must be SYSTEM/FRAMEWORK/VERSION, such as h100_sxm/vllm/0.24.0".to_owned());
        };
        let is_name = |name: &str| !name.is_empty() && !name.starts_with('.') && !is_family(name);
        if !is_name(system) || !is_name(version) {
            return Err("SYSTEM and VERSION must be names of folders".to_owned());
        }
        if !FRAMEWORKS.contains(framework) {
            return Err(format!("the framework must be one of {}", FRAMEWORKS.join(", ")));
        }
        let [system, framework, version] = [system, framework, version].map(|part| (*part).to_owned());
        Ok(Place { system, framework, version })
    }
}

impl Place {
    /// What the path of a database says, as an import has it.
    fn of(directory: &Path) -> Result<Place, Error> {
        let path = std::fs::canonicalize(directory).map_err(|source| Error::io(directory, source))?;
        let mut names: Vec<String> = path
            .ancestors()
            .take(3)
            .filter_map(Path::file_name)
            .map(|name| name.to_string_lossy().into_owned())
            .collect();
        names.reverse();
        let reason = |reason: String| {
            let what = "does not stand in folders SYSTEM/FRAMEWORK/VERSION";
            Error::unfit(directory, format!("{what} ({reason}); name them, such as --as h100_sxm/vllm/0.24.0"))
        };
        names.join("/").parse().map_err(reason)
    }

    /// The folder of an operator's table. One that no family is known of stands in that of older versions.
    fn folder(&self, operator: &str) -> PathBuf {
        let system = Path::new(&self.system);
        let family = family(operator).map_or_else(|| system.to_owned(), |family| system.join(family));
        family.join(&self.framework).join(&self.version)
    }
}

/// A table of a database, and what it is there.
struct Own {
    name: String,
    table: Table,
    kind: TableType,
    way: Way,
}

/// Where the columns come from.
enum Way {
    Theirs(Theirs),
    Made(Made),
}

/// Writes every database at or below `database`; `place` says where one stands whose path does not. All or nothing.
///
/// # Errors
/// When a table cannot be read, no row fits, the place of a database is not known, or a file is there already with other rows.
pub fn export(
    database: &Path,
    target: &Path,
    place: Option<&Place>,
    lock: &LockOptions<'_>,
) -> Result<Exported, Error> {
    let mut directories: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
    for directory in std::iter::once(database.to_owned()).chain(tables_below(database)?) {
        let tables = tables_in(&directory)?;
        if !tables.is_empty() {
            directories.insert(directory, tables);
        }
    }
    if place.is_some() && directories.len() > 1 {
        return Err(Error::unfit(database, "has several databases, and --as names the place of one"));
    }
    let mut files = Target::open(target, lock)?;
    let mut exported = Exported::default();
    for (directory, tables) in &directories {
        let place = place.cloned().map_or_else(|| Place::of(directory), Ok)?;
        let path = directory.join("op_mapping.yaml");
        let registry = Registry::of_database(directory).map_err(|error| Error::unfit(&path, error.to_string()))?;
        let mut operators: BTreeMap<String, Vec<Own>> = BTreeMap::new();
        for path in tables {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let table = Table::read(path, &ReadOptions::database())?;
            let kind = registry.table(&name);
            match way(&name, &kind, &table, &place) {
                Some((operator, way)) => {
                    operators.entry(operator).or_default().push(Own { name, table, kind, way });
                }
                None => *exported.left_out.entry(name).or_default() += table.row_count(),
            }
        }
        let mut written: BTreeMap<PathBuf, Vec<(String, bool)>> = BTreeMap::new();
        for (operator, tables) in operators {
            let is_whole = tables.iter().all(|own| matches!(own.way, Way::Theirs(_)));
            let content = joined(&operator, tables, &place, &mut exported)?;
            if content.row_count() == 0 {
                continue;
            }
            let folder = place.folder(&operator);
            let path = target.join(&folder).join(format!("{operator}_perf.parquet"));
            exported.tables += 1;
            exported.rows += content.row_count();
            add(&mut files, &path, &content)?;
            written.entry(folder).or_default().push((operator, is_whole));
        }
        exported.databases += usize::from(!written.is_empty());
        for (folder, operators) in written {
            let text = description(&place, &operators);
            files.add(&target.join(folder).join("collection_meta.yaml"), text.as_bytes())?;
        }
    }
    if exported.tables == 0 {
        return Err(Error::unfit(database, "no row is of an operator that AIConfigurator has a table for"));
    }
    files.commit()?;
    Ok(exported)
}

/// The operator of a table; nothing where there is none.
fn way(name: &str, kind: &TableType, table: &Table, place: &Place) -> Option<(String, Way)> {
    if kind.class != KernelClass::Collective
        && let Some(theirs) = Theirs::of(name, table)
    {
        return Some((theirs.operator.clone(), Way::Theirs(theirs)));
    }
    let (operator, made) = Made::of(name, kind, &place.framework)?;
    Some((operator.to_owned(), Way::Made(made)))
}

/// The rows of all tables of an operator.
fn joined(operator: &str, tables: Vec<Own>, place: &Place, exported: &mut Exported) -> Result<SourceTable, Error> {
    let mut all = SourceTable::default();
    for Own { name, table, kind, way } in tables {
        let (rows, half) = match &way {
            Way::Theirs(theirs) => (theirs.rows(&table)?, theirs.half.as_ref()),
            Way::Made(made) => (made.rows(operator, &kind, &table, place), None),
        };
        let missing = table.row_count() - rows.row_count();
        if missing > 0 {
            *exported.left_out.entry(name).or_default() += missing;
        }
        match half {
            Some(half) => all.add_half(&rows, half),
            None => all.append(rows),
        }
    }
    Ok(all)
}

/// Adds a table, which must not be there with other rows: one of the same rows is that of an export that was killed after it.
fn add(files: &mut Target, path: &Path, content: &SourceTable) -> Result<(), Error> {
    if path.symlink_metadata().is_ok() {
        if SourceTable::read(path)?.has_same_cells(content) {
            return Ok(());
        }
        return Err(Error::unfit(path, "is there already, and nothing is replaced; export into another folder"));
    }
    let failed = |source| Error::io(path, source);
    let columns = content.all_columns().map(|(name, cells)| (name.to_owned(), kind(name, cells))).collect();
    let schema = Schema::new("aiconfigurator", columns);
    let mut writer = open(Staged::create(path, Parents::Create)?, &schema).map_err(failed)?;
    let kinds = schema.columns.iter().map(|(_, kind)| *kind);
    let columns = content.all_columns().zip(kinds).map(|((_, cells), kind)| values(kind, cells)).collect();
    writer.write(Batch { columns }).map_err(failed)?;
    let mut staged = writer.finish().map_err(failed)?;
    // Many tables are not open at once.
    staged.sync()?;
    files.add_staged(staged);
    Ok(())
}

/// What the cells of a column are: numbers where each is written as its number would be again.
fn kind(name: &str, cells: &[String]) -> Kind {
    if Timing::is_time(name) {
        return Kind::Real;
    }
    if is_text(name) || cells.iter().all(String::is_empty) {
        return Kind::Text;
    }
    let all = |is: fn(&str) -> bool| cells.iter().all(|cell| cell.is_empty() || is(cell));
    if all(|cell| cell.parse::<i64>().is_ok_and(|number| number.to_string() == cell)) {
        Kind::Integer
    } else if all(|cell| cell.parse::<f64>().is_ok_and(|number| number.to_string() == cell)) {
        Kind::Real
    } else if all(|cell| matches!(cell, "true" | "false")) {
        Kind::Truth
    } else {
        Kind::Text
    }
}

fn values(kind: Kind, cells: &[String]) -> Values {
    match kind {
        Kind::Integer => Values::Integer(cells.iter().map(|cell| cell.parse().ok()).collect()),
        Kind::Real => Values::Real(cells.iter().map(|cell| cell.parse().ok()).collect()),
        Kind::Truth => Values::Truth(cells.iter().map(|cell| cell.parse().ok()).collect()),
        Kind::Text => Values::Text(cells.iter().map(|cell| Some(cell.clone())).collect()),
    }
}

/// What AIConfigurator wants to know of a folder. Older versions fill in for what a partial table does not have.
fn description(place: &Place, operators: &[(String, bool)]) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let mut text = format!(
        "schema_version: 1\nprovenance: legacy\nruntime:\n  framework: {}\n  version: {}\ntables:\n",
        quoted(&place.framework),
        quoted(&place.version)
    );
    for (operator, is_whole) in operators {
        let status = if *is_whole { "complete" } else { "partial" };
        let _ = write!(text, "  {operator}_perf:\n    status: {status}\n");
    }
    text
}

/// Milliseconds of which an import makes these microseconds again, where there are such.
fn milliseconds(us: f64) -> f64 {
    let near = us / 1000.0;
    let around = [near, near.next_up(), near.next_down(), near.next_up().next_up(), near.next_down().next_down()];
    around.into_iter().find(|ms| ms * 1000.0 == us).unwrap_or(near)
}

/// The deviation of a row in milliseconds, as a cell.
fn deviation(table: &Table, row: usize) -> String {
    let us = table.column(super::DEVIATION).and_then(|column| table.cell(row, column).trim().parse().ok());
    us.filter(|us: &f64| us.is_finite()).map_or_else(String::new, |us| milliseconds(us).to_string())
}

/// The duration of a row in microseconds.
fn duration_us(table: &Table, row: usize) -> Option<f64> {
    let columns = crate::columns::DURATIONS.iter().filter_map(|name| table.column(name));
    let mut numbers = columns.map(|column| crate::duration::number(table.cell(row, column)));
    numbers.find(|us| crate::duration::is_valid(*us))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_three_folders() {
        let place: Place = "h100_sxm/vllm/0.24.0".parse().unwrap();
        assert_eq!(place.folder("gemm"), Path::new("h100_sxm/gemm/vllm/0.24.0"));
        assert_eq!(place.folder("new_operator"), Path::new("h100_sxm/vllm/0.24.0"));
        for text in ["h100_sxm", "a/b/c", "gemm/vllm/1", "a/vllm/", "../vllm/1", "a/vllm/1/2"] {
            assert!(text.parse::<Place>().is_err(), "{text}");
        }
    }

    #[test]
    fn milliseconds_become_the_same_microseconds() {
        for ms in [0.005_31, 60.324_042_426_215_28, 0.053_653_334_577_878_32, 1e-3, 0.1] {
            let us: f64 = ms * 1000.0;
            assert_eq!(milliseconds(us) * 1000.0, us, "{ms}");
        }
    }

    #[test]
    fn columns_are_numbers_where_their_texts_come_back() {
        let of =
            |name: &str, cells: &[&str]| kind(name, &cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>());
        assert_eq!(of("m", &["16", "", "32"]), Kind::Integer);
        assert_eq!(of("m", &["16", "016"]), Kind::Text);
        assert_eq!(of("share", &["0.5", "2"]), Kind::Real);
        assert_eq!(of("latency", &["2"]), Kind::Real);
        assert_eq!(of("version", &["2.23"]), Kind::Text);
        assert_eq!(of("graph", &["true", "false"]), Kind::Truth);
    }
}
