//! A database as Parquet.

use super::cells::{kind, values};
use super::collectives::Collectives;
use super::files::{File, check_apart, copied, files_below, is_parquet, visible};
use super::origin::{Origin, Origins};
use super::{AS_WRITTEN, CSV, DEVICE, FIRST, FORMAT_VERSION, MAPPING, SCHEMA_VERSION, UNITS, VERSION, Written};
use crate::columns;
use crate::duration;
use crate::numeric::unit;
use crate::parquet::error::Error;
use crate::parquet::write::open;
use crate::table::{ReadOptions, Row, Table};
use perfdb_files::replace::{Parents, Staged, commit};
use perfdb_files::tables::{Batch, Kind, Schema, Values};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exported {
    /// Tables.
    pub tables: usize,
    /// Their rows.
    pub rows: usize,
    /// Files that are not tables, copied as they are.
    pub copied: usize,
    /// The folder of the collectives that came along, where they lie outside the database, and its name in the export.
    pub collectives: Option<(PathBuf, String)>,
    /// The folder of collectives that the mapping refers to and that is not there.
    pub missing_collectives: Option<PathBuf>,
}

/// Writes every table below `database` as a Parquet file of the same path below `target`, and copies the other files. Collectives that the operator
/// mapping takes from elsewhere come along, and the mapping of the export refers to them. All or nothing.
///
/// # Errors
/// When a table cannot be read, or `target` has Parquet files of something else: importing it would bring them along.
pub fn export(database: &Path, target: &Path) -> Result<Exported, Error> {
    check_apart(database, target)?;
    let files = files_below(database)?;
    let collectives = Collectives::of(database)?;
    refuse_others(&files, &collectives, target)?;
    let mut exported = Exported { missing_collectives: collectives.missing.clone(), ..Exported::default() };
    let mut staged = Vec::new();
    let mut origins = Origins::default();
    let mut add_table = |from: &Path, to: &Path, exported: &mut Exported| -> Result<Staged, Error> {
        let table = Table::read(from, &ReadOptions::database())?;
        exported.tables += 1;
        exported.rows += table.row_count();
        let origin = origins.of(from.parent().unwrap_or(database));
        write_table(&table, origin, Staged::create(to, Parents::Create)?)
    };
    if let Some(folder) = &collectives.folder {
        for table in &collectives.tables {
            let to = target.join(&collectives.name).join(table.file_name().unwrap_or_default());
            staged.push(add_table(table, &visible(&to), &mut exported)?);
        }
        exported.collectives = Some((folder.clone(), collectives.name.clone()));
    }
    for File { below, is_table } in files {
        let from = database.join(&below);
        if is_table {
            staged.push(add_table(&from, &visible(&target.join(below)), &mut exported)?);
        } else if is_parquet(&below) {
            return Err(Error::unfit(&from, "is Parquet already and no table of a database; move it away"));
        } else if let Some(mapping) = collectives.mapping.as_ref().filter(|_| below == Path::new(MAPPING)) {
            staged.push(Staged::description(&target.join(below), Parents::Create)?.filled(mapping)?);
            exported.copied += 1;
        } else {
            staged.push(copied(&from, &below, Staged::description(&target.join(&below), Parents::Create)?)?);
            exported.copied += 1;
        }
    }
    commit(staged)?;
    Ok(exported)
}

/// Refuses a folder with files that an earlier export left and that are of no table any more.
fn refuse_others(files: &[File], collectives: &Collectives, target: &Path) -> Result<(), Error> {
    if !target.is_dir() {
        return Ok(());
    }
    let tables = files.iter().filter(|file| file.is_table);
    let mut ours: BTreeSet<PathBuf> = tables.map(|table| visible(&table.below)).collect();
    let names = collectives.tables.iter().filter_map(|table| table.file_name());
    ours.extend(names.map(|name| visible(&Path::new(&collectives.name).join(name))));
    for File { below, .. } in files_below(target)? {
        if is_parquet(&below) && !ours.contains(&below) {
            let reason = "is of no table of this database; export into another folder";
            return Err(Error::unfit(&target.join(below), reason));
        }
    }
    Ok(())
}

/// A table as Parquet.
fn write_table(table: &Table, origin: &Origin, file: Staged) -> Result<Staged, Error> {
    let path = file.path().to_owned();
    let failed = |source| Error::io(&path, source);
    let schema = schema(table, origin, &path)?;
    let kernel_type = table.path().file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let duration_columns: Vec<usize> = columns::DURATIONS.iter().filter_map(|name| table.column(name)).collect();
    let record = |row: Row<'_>| String::from_utf8_lossy(table.source_to_next_record(row.index())).into_owned();
    let as_written = Values::Text(table.rows().map(|row| Some(record(row))).collect());
    let line = |row: Row<'_>| row.line().and_then(|line| i64::try_from(line).ok());
    let duration_us = |row: Row<'_>| {
        let mut numbers = duration_columns.iter().map(|column| duration::number(row.cell(*column)));
        numbers.find(|number| duration::is_valid(*number))
    };
    let first = [
        Values::Text(vec![Some(kernel_type); table.row_count()]),
        Values::Text(vec![origin.device.clone(); table.row_count()]),
        Values::Text(vec![origin.version.clone(); table.row_count()]),
        Values::Integer(table.rows().map(line).collect()),
        Values::Real(table.rows().map(duration_us).collect()),
    ];
    let kinds = schema.columns[FIRST.len()..].iter().map(|(_, kind)| *kind);
    let cells = (0..table.columns().len()).zip(kinds);
    let cells = cells.map(|(column, kind)| values(kind, table.rows().map(|row| row.cell(column))));
    let batch = Batch { columns: first.into_iter().chain(cells).chain([as_written]).collect() };
    let mut writer = open(file, &schema).map_err(failed)?;
    writer.write(batch).map_err(failed)?;
    let mut staged = writer.finish().map_err(failed)?;
    // Many tables are not open at once.
    staged.sync()?;
    Ok(staged)
}

fn schema(table: &Table, origin: &Origin, path: &Path) -> Result<Schema, Error> {
    let kinds = [Kind::Text, Kind::Text, Kind::Text, Kind::Integer, Kind::Real];
    let mut columns: Vec<(String, Kind)> = FIRST.into_iter().map(str::to_owned).zip(kinds).collect();
    let mut used: Vec<String> = FIRST.into_iter().chain([AS_WRITTEN]).map(str::to_lowercase).collect();
    let mut taken = used.clone();
    taken.extend(table.columns().iter().map(|name| name.to_lowercase()));
    let mut named = Vec::new();
    for (at, column) in table.columns().iter().enumerate() {
        // Engines take names that differ in case alone for one.
        let mut name = if column.is_empty() { "column".to_owned() } else { column.clone() };
        let mut number = 2;
        while used.contains(&name.to_lowercase()) {
            name = format!("{column}_{number}");
            // Not the name of a column that is still to come.
            if taken.contains(&name.to_lowercase()) {
                name = format!("{column}_{number}_");
            }
            number += 1;
        }
        used.push(name.to_lowercase());
        named.push((column.clone(), name.clone()));
        columns.push((name, kind(column, table.rows().map(|row| row.cell(at)))));
    }
    columns.push((AS_WRITTEN.to_owned(), Kind::Text));
    let written = Written {
        format_version: FORMAT_VERSION,
        header: String::from_utf8_lossy(table.source_header()).into_owned(),
        line_end: table.header_line_end().as_str().to_owned(),
        columns: named,
        table: (table.path().file_stem() != path.file_stem())
            .then(|| table.path().file_stem().unwrap_or_default().to_string_lossy().into_owned()),
    };
    let units: serde_json::Map<String, serde_json::Value> =
        columns.iter().filter_map(|(name, _)| Some((name.clone(), unit(name)?.into()))).collect();
    let mut schema = Schema::new("database", columns);
    let note = serde_json::to_string(&written).map_err(|error| Error::unfit(table.path(), error.to_string()))?;
    schema.notes.push((CSV.to_owned(), note));
    schema.notes.push((SCHEMA_VERSION.to_owned(), FORMAT_VERSION.to_string()));
    schema.notes.push((UNITS.to_owned(), serde_json::Value::Object(units).to_string()));
    let places = [(DEVICE, &origin.device), (VERSION, &origin.version)];
    let places = places.into_iter().filter_map(|(key, value)| Some((format!("perfdb.{key}"), value.clone()?)));
    let versions = origin.versions.iter().map(|(key, value)| ((*key).to_owned(), value.clone()));
    schema.notes.extend(places.chain(versions));
    Ok(schema)
}
