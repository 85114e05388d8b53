//! Rows of two databases that are of one case, however their tables are called.

use super::hierarchy::{DEPTH, Path as Levels};
use crate::versions::Error;
use perfdb_store::columns::{DURATIONS, EP_SIZE, INPUT_SHAPES, INPUT_TYPES};
use perfdb_store::directory::tables_in;
use perfdb_store::dtype::DType;
use perfdb_store::duration::{is_valid, number};
use perfdb_store::registry::{Registry, TableType};
use perfdb_store::slots::{dimensions, normal_shape, split};
use perfdb_store::table::{ReadOptions, Table};
use rustc_hash::FxHashMap;
use std::path::Path;

/// The rows of a table, with what identifies them.
#[derive(Debug)]
pub(super) struct Rows {
    /// The kernel type.
    pub(super) name: String,
    pub(super) kind: TableType,
    pub(super) table: Table,
    /// Where their durations stand.
    pub(super) duration: usize,
    durations_us: Vec<Option<f64>>,
    shapes: Option<usize>,
    types: Option<usize>,
    ep_size: Option<usize>,
}

/// A row of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Place {
    pub(super) table: usize,
    pub(super) row: usize,
}

/// The compute tables of a database, and how many are of collectives.
pub(super) fn rows_of(folder: &Path, registry: &Registry) -> Result<(Vec<Rows>, usize), Error> {
    let (mut found, mut collectives) = (Vec::new(), 0);
    let paths = tables_in(folder)?;
    if paths.is_empty() {
        return Err(Error::NoTables { path: folder.to_owned() });
    }
    for path in paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if registry.is_collective(&name) {
            collectives += 1;
            continue;
        }
        let table = Table::read(&path, &ReadOptions::database())?;
        let Some(duration) = DURATIONS.iter().find_map(|column| table.column(column)) else { continue };
        let column = |name: &str| table.column(name);
        let us = |row: usize| Some(number(table.cell(row, duration))).filter(|us| is_valid(*us));
        found.push(Rows {
            durations_us: (0..table.row_count()).map(us).collect(),
            shapes: column(INPUT_SHAPES),
            types: column(INPUT_TYPES),
            ep_size: column(EP_SIZE),
            kind: registry.table(&name),
            name,
            duration,
            table,
        });
    }
    Ok((found, collectives))
}

impl Rows {
    pub(super) fn duration_us(&self, row: usize) -> Option<f64> {
        self.durations_us.get(row).copied().flatten()
    }

    /// Rows with a duration.
    pub(super) fn durations(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.durations_us.iter().enumerate().filter_map(|(row, us)| Some((row, (*us)?)))
    }

    /// Shapes of the inputs that make a case: of products the two operands.
    fn inputs(&self, row: usize) -> Vec<&str> {
        let mut slots = split(self.shapes.map_or("", |column| self.table.cell(row, column)));
        if self.kind.class.is_product() {
            slots.truncate(2);
        }
        slots
    }

    /// What makes two rows one case.
    fn key(&self, row: usize) -> String {
        let inputs = self.inputs(row);
        let shapes: Vec<_> = inputs.iter().map(|slot| normal_shape(slot)).collect();
        let types = split(self.types.map_or("", |column| self.table.cell(row, column)));
        let types = types.iter().take(inputs.len()).map(|name| match DType::from_database(name) {
            Some(dtype) => dtype.name(),
            None => name.strip_prefix("DT_").unwrap_or(name),
        });
        let ep_size = self.ep_size.map_or("", |column| self.table.cell(row, column));
        let (class, window) = (self.kind.class.name(), self.kind.window.unwrap_or(0));
        format!("{class}|{}|{}|{ep_size}|{window}", shapes.join(";"), types.collect::<Vec<_>>().join(";"))
    }

    /// Where a row stands among all: class, table, its duration by eights and by twos, and its size by fours.
    pub(super) fn path(&self, row: usize) -> Option<Levels> {
        let octave = self.duration_us(row)?.log2();
        let size = |slot: &&str| dimensions(&normal_shape(slot)).unwrap_or_default();
        let elements = |slot: &str| size(&slot).iter().map(|size| (*size).max(1) as f64).product::<f64>();
        let elements: f64 = self.inputs(row).into_iter().map(elements).sum();
        let (eights, twos) = ((octave / 3.0).floor() as i64, octave.floor() as i64);
        let fours = ((1.0 + elements).log2() / 2.0).floor() as i64;
        let table = format!("{}/{}", self.kind.class.name(), self.name);
        let levels: [String; DEPTH] = [
            String::new(),
            self.kind.class.name().to_owned(),
            table.clone(),
            format!("{table}/{eights}"),
            format!("{table}/{eights}/{twos}"),
            format!("{table}/{eights}/{twos}/{fours}"),
        ];
        Some(Levels { levels })
    }

    /// Shapes and types of the inputs as they stand in the table.
    pub(super) fn call(&self, row: usize) -> [&str; 2] {
        [self.shapes, self.types].map(|column| column.map_or("", |column| self.table.cell(row, column)))
    }
}

/// The public rows by case.
#[derive(Debug)]
pub(super) struct Cases(FxHashMap<String, Vec<Place>>);

impl Cases {
    pub(super) fn new(tables: &[Rows]) -> Cases {
        let mut cases: FxHashMap<String, Vec<Place>> = FxHashMap::default();
        for (table, rows) in tables.iter().enumerate() {
            for (row, _) in rows.durations() {
                cases.entry(rows.key(row)).or_default().push(Place { table, row });
            }
        }
        Cases(cases)
    }

    /// The public row of the same case. Of several tables that have it, the one whose name is that of the measured table, else the longest one
    /// that the other name goes on from; nothing where neither is so.
    pub(super) fn find(&self, public: &[Rows], mine: &Rows, row: usize) -> Option<Place> {
        let places = self.0.get(&mine.key(row))?;
        let likeness = |place: &Place| {
            let (name, own) = (&public[place.table].name, &mine.name);
            let goes_on = |longer: &str, shorter: &str| {
                longer.strip_prefix(shorter).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
            };
            if name == own {
                usize::MAX
            } else if goes_on(own, name) || goes_on(name, own) {
                name.len().min(own.len())
            } else {
                0
            }
        };
        match places.as_slice() {
            [one] => Some(*one),
            several => several.iter().copied().filter(|place| likeness(place) > 0).max_by_key(likeness),
        }
    }
}
