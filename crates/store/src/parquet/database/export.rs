//! A database as Parquet.

use super::collectives::Collectives;
use super::files::{File, check_apart, copied, files_below, is_parquet};
use super::{AS_WRITTEN, CSV, DURATION, FORMAT_VERSION, KERNEL_TYPE, LINE, MAPPING, Written};
use crate::columns;
use crate::duration;
use crate::parquet::error::Error;
use crate::parquet::write::open;
use crate::table::{ReadOptions, Row, Table, push_csv_row};
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
    let add_table = |from: &Path, to: &Path, exported: &mut Exported| -> Result<Staged, Error> {
        let table = Table::read(from, &ReadOptions::database())?;
        exported.tables += 1;
        exported.rows += table.row_count();
        write_table(&table, Staged::create(to, Parents::Create)?)
    };
    if let Some(folder) = &collectives.folder {
        for table in &collectives.tables {
            let to = target.join(&collectives.name).join(table.file_name().unwrap_or_default());
            staged.push(add_table(table, &to.with_extension("parquet"), &mut exported)?);
        }
        exported.collectives = Some((folder.clone(), collectives.name.clone()));
    }
    for File { below, is_table } in files {
        let from = database.join(&below);
        if is_table {
            staged.push(add_table(&from, &target.join(below).with_extension("parquet"), &mut exported)?);
        } else if is_parquet(&below) {
            return Err(Error::unfit(&from, "is Parquet already and no table of a database; move it away"));
        } else if let Some(mapping) = collectives.mapping.as_ref().filter(|_| below == Path::new(MAPPING)) {
            staged.push(Staged::with(&target.join(below), mapping, Parents::Create)?);
            exported.copied += 1;
        } else {
            staged.push(copied(&from, Staged::create(&target.join(below), Parents::Create)?)?);
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
    let mut ours: BTreeSet<PathBuf> = tables.map(|table| table.below.with_extension("parquet")).collect();
    let names = collectives.tables.iter().filter_map(|table| table.file_name());
    ours.extend(names.map(|name| Path::new(&collectives.name).join(name).with_extension("parquet")));
    for File { below, .. } in files_below(target)? {
        if is_parquet(&below) && !ours.contains(&below) {
            let reason = "is of no table of this database; export into another folder";
            return Err(Error::unfit(&target.join(below), reason));
        }
    }
    Ok(())
}

/// A table as Parquet.
fn write_table(table: &Table, file: Staged) -> Result<Staged, Error> {
    let path = file.path().to_owned();
    let failed = |source| Error::io(&path, source);
    let schema = schema(table)?;
    let line_end = table.header_line_end();
    let kernel_type = table.path().file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let duration_columns: Vec<usize> = columns::DURATIONS.iter().filter_map(|name| table.column(name)).collect();
    let mut canonical = Vec::new();
    let as_written = table.rows().map(|row| {
        canonical.clear();
        push_csv_row(&mut canonical, row.cells(), line_end);
        let record = table.source_to_next_record(row.index());
        (canonical != record).then(|| String::from_utf8_lossy(record).into_owned())
    });
    let as_written = Values::Text(as_written.collect());
    let line = |row: Row<'_>| row.line().and_then(|line| i64::try_from(line).ok());
    let duration_us = |row: Row<'_>| {
        let mut numbers = duration_columns.iter().map(|column| duration::number(row.cell(*column)));
        numbers.find(|number| duration::is_valid(*number))
    };
    let first = [
        Values::Text(vec![Some(kernel_type); table.row_count()]),
        Values::Integer(table.rows().map(line).collect()),
        Values::Real(table.rows().map(duration_us).collect()),
    ];
    let cells = |column| Values::Text(table.rows().map(|row| Some(row.cell(column).to_owned())).collect());
    let cells = (0..table.columns().len()).map(cells);
    let batch = Batch { columns: first.into_iter().chain(cells).chain([as_written]).collect() };
    let mut writer = open(file, &schema).map_err(failed)?;
    writer.write(batch).map_err(failed)?;
    let mut staged = writer.finish().map_err(failed)?;
    // Many tables are not open at once.
    staged.sync()?;
    Ok(staged)
}

fn schema(table: &Table) -> Result<Schema, Error> {
    let mut columns =
        vec![(KERNEL_TYPE.to_owned(), Kind::Text), (LINE.to_owned(), Kind::Integer), (DURATION.to_owned(), Kind::Real)];
    let mut taken: Vec<String> = [KERNEL_TYPE, LINE, DURATION, AS_WRITTEN].map(str::to_lowercase).into();
    taken.extend(table.columns().iter().map(|name| name.to_lowercase()));
    let mut named = Vec::new();
    let mut used: Vec<String> = [KERNEL_TYPE, LINE, DURATION, AS_WRITTEN].map(str::to_lowercase).into();
    for column in table.columns() {
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
        columns.push((name, Kind::Text));
    }
    columns.push((AS_WRITTEN.to_owned(), Kind::Text));
    let written = Written {
        format_version: FORMAT_VERSION,
        header: String::from_utf8_lossy(table.source_header()).into_owned(),
        line_end: table.header_line_end().as_str().to_owned(),
        columns: named,
    };
    let mut schema = Schema::new("database", columns);
    let note = serde_json::to_string(&written).map_err(|error| Error::unfit(table.path(), error.to_string()))?;
    schema.notes.push((CSV.to_owned(), note));
    Ok(schema)
}
