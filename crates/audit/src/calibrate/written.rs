//! The calibrated database: every public row with its duration here, and where that comes from.

use super::case::Place;
use super::{Calibration, median};
use crate::versions::Error;
use perfdb_files::input::{self, Kind, LARGEST_DOCUMENT_BYTES};
use perfdb_files::lock::LockOptions;
use perfdb_store::columns::{CALIBRATED, DURATION_SOURCE, PROFILED, PROFILED_DURATION};
use perfdb_store::directory::tables_in;
use perfdb_store::duration::text;
use perfdb_store::new_database::{NewDatabase, NewTable};
use perfdb_store::provenance::{Record, Run};
use perfdb_store::registry::Registry;
use perfdb_store::table::{ReadOptions, Table};
use std::path::Path;

/// Ends of the 90 % interval, and what the public database has.
const MORE: [&str; 4] = ["Duration Low(us)", "Duration High(us)", "Public Duration(us)", DURATION_SOURCE];

impl Calibration {
    /// Writes the calibrated database, which must not be there.
    ///
    /// # Errors
    /// When a file is there already, or one cannot be read or written.
    pub fn write(&self, public: &Path, directory: &Path, run: Run, lock: &LockOptions<'_>) -> Result<(), Error> {
        let mut database = NewDatabase::default();
        for (at, rows) in self.public.iter().enumerate() {
            database.tables.insert(rows.name.clone(), self.table(at));
        }
        let mapping = public.join("op_mapping.yaml");
        let read = input::read(&mapping, Kind::RegularFile, LARGEST_DOCUMENT_BYTES);
        match read {
            Ok(text) => database.mapping = Some(text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(perfdb_files::Error::io(&mapping, error).into()),
        }
        let registry = Registry::of_database(public).map_err(|error| super::of_registry(public, &error))?;
        for path in tables_in(public)? {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if registry.is_collective(&name) {
                let table = Table::read(&path, &ReadOptions::database())?;
                let rows = table.rows().map(|row| row.cells().map(str::to_owned).collect()).collect();
                database
                    .tables
                    .insert(name, NewTable { kind: Default::default(), header: table.columns().to_vec(), rows });
            }
        }
        database.device = Record::load(public)?.and_then(|record| record.device);
        Ok(database.write(directory, run, lock)?)
    }

    fn table(&self, at: usize) -> NewTable {
        let rows = &self.public[at];
        let mut header = rows.table.columns().to_vec();
        let mut place = |name: &str| {
            header.iter().position(|own| own == name).unwrap_or_else(|| {
                header.push(name.to_owned());
                header.len() - 1
            })
        };
        let deviation = place(PROFILED[2]);
        let more = MORE.map(&mut place);
        let mean = header.iter().position(|own| own == PROFILED_DURATION);
        let cells = |row: usize| {
            let mut cells: Vec<String> = rows.table.row(row).cells().map(str::to_owned).collect();
            cells.resize(header.len(), String::new());
            let Some(public_us) = rows.duration_us(row) else { return cells };
            cells[more[2]] = public_us.to_string();
            if let Some(measured) = self.measured.get(&Place { table: at, row }) {
                let us = median(&mut measured.clone());
                cells[rows.duration] = text(us);
                cells[more[3]] = "measured".to_owned();
                cells[deviation] = String::new();
                if let Some(mean) = mean {
                    cells[mean] = text(us);
                }
            } else if let Some(found) = self.calibrated(at, row) {
                let [low, high] = found.interval_us;
                cells[rows.duration] = text(found.duration_us);
                cells[more[0]] = text(low);
                cells[more[1]] = text(high);
                cells[more[3]] = CALIBRATED.to_owned();
                // Of a log-normal distribution, whose interval is the one in the columns next to it.
                cells[deviation] = text(found.duration_us * (found.deviation.powi(2)).exp_m1().sqrt());
                if let Some(mean) = mean {
                    cells[mean] = text(found.duration_us);
                }
            }
            cells
        };
        let all = (0..rows.table.row_count()).map(cells).collect();
        NewTable { kind: rows.kind.clone(), header: header.clone(), rows: all }
    }
}
