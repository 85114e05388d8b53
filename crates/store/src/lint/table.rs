//! Looking at one table.

use super::finding::{Finding, Kind};
use crate::columns::{
    COMMUNICATION, COMMUNICATION_DURATION, EP_SIZE, INPUT_FORMATS, INPUT_SHAPES, INPUT_TYPES, MEASURED_DURATION,
    METRICS, OBSOLETE, OLD_MEASURED_DURATION, OUTPUT_SHAPES, OUTPUT_TYPES, PROFILED_DURATION,
};
use crate::duration::{is_valid, number};
use crate::error::{CsvFault, Error};
use crate::signature::{Rules, Signature, SignatureColumns, Variant};
use crate::slots::{dimensions, normal_shape, split};
use crate::table::{Row, Table};
use perfdb_files::escape::excerpt;
use perfdb_pycompat::number::parse_float;
use perfdb_pycompat::text::trim;
use rustc_hash::{FxHashMap, FxHashSet};
use std::path::Path;

/// What was seen of a table.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) findings: Vec<Finding>,
    pub(super) rows: usize,
    /// The inputs of its rows, for tables that are tried one after the other.
    pub(super) inputs: Option<FxHashSet<String>>,
}

/// The columns whose cells are looked at; of the others the names are enough.
const LOOKED_AT: [&str; 9] = [
    INPUT_SHAPES,
    INPUT_TYPES,
    INPUT_FORMATS,
    OUTPUT_SHAPES,
    OUTPUT_TYPES,
    EP_SIZE,
    MEASURED_DURATION,
    PROFILED_DURATION,
    COMMUNICATION_DURATION,
];

const DURATIONS: [&str; 3] = [MEASURED_DURATION, PROFILED_DURATION, COMMUNICATION_DURATION];

/// Looks at a table; only a file that the system refuses to read is an error.
pub(super) fn look_at(path: &Path) -> Result<Seen, Error> {
    let table = match Table::read_columns(path, &LOOKED_AT) {
        Ok(table) => table,
        Err(Error::Csv { line, fault, .. }) => {
            let kind = if fault == CsvFault::LfsPointer { Kind::LfsPointer } else { Kind::Unreadable };
            let finding = Finding { kind, file: path.to_owned(), line, message: fault.to_string() };
            return Ok(Seen { findings: vec![finding], ..Seen::default() });
        }
        Err(Error::Files(perfdb_files::Error::Io { source, .. })) => {
            let finding =
                Finding { kind: Kind::Unreadable, file: path.to_owned(), line: None, message: source.to_string() };
            return Ok(Seen { findings: vec![finding], ..Seen::default() });
        }
        Err(error) => return Err(error),
    };
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let is_communication = stem.starts_with("hcom_");
    let mut look = Look { table: &table, findings: Vec::new(), is_communication };
    let mut inputs = None;
    if is_communication {
        look.communication_schema();
    } else {
        look.schema();
        inputs = look.signatures(&stem);
        look.shapes();
    }
    look.durations();
    let mut findings = look.findings;
    findings.sort_by_key(|finding| (finding.line, finding.kind));
    Ok(Seen { findings, rows: table.row_count(), inputs })
}

struct Look<'t> {
    table: &'t Table,
    findings: Vec<Finding>,
    is_communication: bool,
}

impl Look<'_> {
    fn add(&mut self, kind: Kind, line: Option<u64>, message: String) {
        self.findings.push(Finding { kind, file: self.table.path().to_owned(), line, message });
    }

    fn communication_schema(&mut self) {
        if self.table.header() != COMMUNICATION {
            let expected = COMMUNICATION.join(",");
            let what = format!(
                "not the columns of a communication table ({expected}), so it answers nothing; measure it with generate-comm-microbench"
            );
            self.add(Kind::Schema, Some(1), what);
        }
    }

    fn schema(&mut self) {
        let required = [INPUT_SHAPES, INPUT_TYPES, INPUT_FORMATS, OUTPUT_SHAPES, OUTPUT_TYPES];
        let missing: Vec<&str> = required.into_iter().filter(|name| self.table.column(name).is_none()).collect();
        if !missing.is_empty() {
            self.add(
                Kind::Schema,
                Some(1),
                format!("missing columns: {}; parse the profile again", missing.join(", ")),
            );
        }
        if DURATIONS.iter().all(|name| self.table.column(name).is_none()) {
            let names = DURATIONS.join(", ");
            self.add(
                Kind::Schema,
                Some(1),
                format!("no duration column, one of {names}; replay it with start-microbench"),
            );
        }
        let columns = self.table.header();
        let old: Vec<&str> = columns.iter().map(String::as_str).filter(|name| is_old(name)).collect();
        if !old.is_empty() {
            let names = old.iter().map(|name| excerpt(name)).collect::<Vec<_>>().join(", ");
            self.add(Kind::Schema, Some(1), format!("obsolete or old columns: {names}; rename or remove them"));
        }
    }

    fn shapes(&mut self) {
        for (shapes, types) in [(INPUT_SHAPES, INPUT_TYPES), (OUTPUT_SHAPES, OUTPUT_TYPES)] {
            let Some(shape_column) = self.table.column(shapes) else { continue };
            let type_column = self.table.column(types);
            for row in self.table.rows() {
                let slots = split(row.cell(shape_column));
                let bad = slots.iter().find(|slot| dimensions(&normal_shape(slot)).is_none());
                if let Some(bad) = bad {
                    let what = format!("{shapes}: {} is no shape; the simulator passes over this row", excerpt(bad));
                    self.add(Kind::Shape, row.line(), what);
                    continue;
                }
                let Some(type_column) = type_column else { continue };
                let type_count = split(row.cell(type_column)).len();
                if slots.len() != type_count {
                    let what = format!(
                        "{} slots in {shapes}, {type_count} in {types}; shapes and types do not go together",
                        slots.len()
                    );
                    self.add(Kind::Shape, row.line(), what);
                }
            }
        }
    }

    /// Finds rows that an earlier one makes unreachable; returns the inputs of all rows.
    fn signatures(&mut self, operator: &str) -> Option<FxHashSet<String>> {
        self.table.column(INPUT_SHAPES)?;
        let rules = Rules::new(operator, Variant::Database);
        let columns = SignatureColumns::of(self.table);
        let mut first: FxHashMap<Signature, Option<u64>> = FxHashMap::default();
        let mut inputs = FxHashSet::default();
        for row in self.table.rows() {
            let signature = rules.signature(&columns.cells(row));
            inputs.insert(signature.parts().take(3).collect::<Vec<_>>().join("\u{1f}"));
            let line = *first.entry(signature).or_insert(row.line());
            if line != row.line() {
                let earlier = line.map(|line| line.to_string()).unwrap_or_default();
                let what =
                    format!("the same case as line {earlier}, which alone is updated and answers; remove one of them");
                self.add(Kind::DuplicateSignature, row.line(), what);
            }
        }
        Some(inputs)
    }

    fn durations(&mut self) {
        let columns: Vec<(&str, usize)> =
            DURATIONS.iter().filter_map(|name| Some((*name, self.table.column(name)?))).collect();
        if columns.is_empty() {
            return;
        }
        let both = [MEASURED_DURATION, PROFILED_DURATION].map(|name| self.table.column(name));
        let mut without = 0;
        for row in self.table.rows() {
            without += usize::from(!columns.iter().any(|(_, column)| is_valid(number(row.cell(*column)))));
            for (name, column) in &columns {
                self.duration(row, name, row.cell(*column));
            }
            if let [Some(measured), Some(profiled)] = both {
                self.outlier(row, number(row.cell(measured)), number(row.cell(profiled)));
            }
        }
        if without > 0 {
            let rows = self.table.row_count();
            let way_out = if self.is_communication {
                "measure them with generate-comm-microbench"
            } else {
                "replay them with start-microbench --update-mode missing-only"
            };
            let what = format!("{without} of {rows} row(s) without a valid duration; {way_out}");
            self.add(Kind::NoDuration, None, what);
        }
    }

    fn duration(&mut self, row: Row<'_>, name: &str, cell: &str) {
        let is_fine =
            trim(cell).is_empty() || parse_float(cell).is_some_and(|duration| duration == 0.0 || is_valid(duration));
        if !is_fine {
            self.add(
                Kind::BadDuration,
                row.line(),
                format!("{name} is {}, which is no duration; measure this row again", excerpt(trim(cell))),
            );
        }
    }

    fn outlier(&mut self, row: Row<'_>, measured_us: f64, profiled_us: f64) {
        let ratio = measured_us / profiled_us;
        if is_valid(measured_us) && is_valid(profiled_us) && !(0.2..=5.0).contains(&ratio) {
            let what = format!(
                "measured {measured_us} us is {ratio:.2} times the profiled {profiled_us} us; measure this row again"
            );
            self.add(Kind::OutlierDuration, row.line(), what);
        }
    }
}

/// Whether tables of today have another name for a column, or none.
fn is_old(name: &str) -> bool {
    let is_old_metric = || name.strip_prefix("Average ").is_some_and(|metric| METRICS.contains(&metric));
    OBSOLETE.contains(&name)
        || name == OLD_MEASURED_DURATION
        || matches!(name, "Median Duration(us)" | "Std Duration(us)" | "avg_seq_len")
        || is_old_metric()
}
