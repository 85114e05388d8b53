//! Looking at one table.

use super::finding::{Finding, Kind};
use crate::columns::{
    COMMUNICATION, DURATIONS, INPUT_FORMATS, INPUT_SHAPES, INPUT_TYPES, MEASURED_DURATION, METRICS, OBSOLETE,
    OLD_MEASURED_DURATION, OUTPUT_SHAPES, OUTPUT_TYPES, PROFILED_DURATION,
};
use crate::dtype::DType;
use crate::duration::{is_valid, number};
use crate::error::{CsvFault, Error};
use crate::registry::Registry;
use crate::row_identity::{IdentityColumns, RowIdentity};
use crate::signature::{Rules, Signature, SignatureColumns, Variant};
use crate::slots::{dimensions, normal_shape, split};
use crate::table::{FileRow, TableFile};
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

/// The reason why a replay would refuse a row: of an operator, with these columns and cells.
pub type Refusal<'a> = dyn Fn(&str, &[String], &[&str]) -> Option<String> + Sync + 'a;

/// Looks at a table; only a file that the system refuses to read is an error.
pub(super) fn look_at(path: &Path, registry: &Registry, refusal: &Refusal<'_>) -> Result<Seen, Error> {
    match look(path, registry, refusal) {
        Ok(seen) => Ok(seen),
        Err(Error::Csv { line, fault, .. }) => {
            let kind = if fault == CsvFault::LfsPointer { Kind::LfsPointer } else { Kind::Unreadable };
            let finding = Finding { kind, file: path.to_owned(), line, message: fault.to_string() };
            Ok(Seen { findings: vec![finding], ..Seen::default() })
        }
        Err(Error::Files(perfdb_files::Error::Io { source, .. })) => {
            let finding =
                Finding { kind: Kind::Unreadable, file: path.to_owned(), line: None, message: source.to_string() };
            Ok(Seen { findings: vec![finding], ..Seen::default() })
        }
        Err(error) => Err(error),
    }
}

fn look(path: &Path, registry: &Registry, refusal: &Refusal<'_>) -> Result<Seen, Error> {
    let mut file = TableFile::open(path)?;
    let pass = file.pass()?;
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let columns = pass.columns().to_vec();
    let mut look = Look::new(path, &stem, registry.is_collective(&stem), &columns);
    if look.is_communication {
        look.communication_schema(pass.columns());
    } else {
        look.schema(pass.columns());
    }
    let rows = pass.for_each(|row| {
        look.row(row);
        if !look.is_communication {
            look.replay(row, &stem, &columns, refusal);
        }
        Ok(())
    })?;
    look.missing_durations(rows);
    let inputs = look.inputs.take();
    Ok(Seen { findings: look.finished(), rows, inputs })
}

/// Findings of a kind that are kept of a table: a table of a hundred million bad rows does not fill the memory.
const MOST_OF_A_KIND: usize = 100_000;

/// Walks over the rows of a table once.
struct Look<'t> {
    path: &'t Path,
    findings: Vec<Finding>,
    counts: FxHashMap<Kind, usize>,
    is_communication: bool,
    rules: Rules,
    signature: SignatureColumns,
    /// Shapes with their types, where the table has them.
    shapes: [(&'static str, Option<usize>, &'static str, Option<usize>); 2],
    durations: Vec<(&'static str, usize)>,
    measured_and_profiled: Option<[usize; 2]>,
    /// The line of the first row that start-microbench finds for some cells.
    first_rows: FxHashMap<(Signature, Option<Signature>), u64>,
    identity: IdentityColumns,
    /// The line of the first row of each identity.
    first_equal: FxHashMap<RowIdentity, u64>,
    /// The line of the first row of those that lookups take for the same.
    first_looked_up: FxHashMap<RowIdentity, u64>,
    inputs: Option<FxHashSet<String>>,
    /// Rows without a valid duration.
    without: usize,
}

impl<'t> Look<'t> {
    fn new(path: &'t Path, stem: &str, is_communication: bool, columns: &[String]) -> Look<'t> {
        let position = |wanted: &str| columns.iter().rposition(|name| name == wanted);
        let both = [MEASURED_DURATION, PROFILED_DURATION].map(position);
        Look {
            path,
            findings: Vec::new(),
            counts: FxHashMap::default(),
            is_communication,
            rules: Rules::new(stem, Variant::Database),
            signature: SignatureColumns::find(position),
            shapes: [(INPUT_SHAPES, INPUT_TYPES), (OUTPUT_SHAPES, OUTPUT_TYPES)]
                .map(|(shapes, types)| (shapes, position(shapes), types, position(types))),
            durations: DURATIONS.iter().filter_map(|name| Some((*name, position(name)?))).collect(),
            measured_and_profiled: both[0].zip(both[1]).map(|(measured, profiled)| [measured, profiled]),
            first_rows: FxHashMap::default(),
            identity: IdentityColumns::of(columns),
            first_equal: FxHashMap::default(),
            first_looked_up: FxHashMap::default(),
            inputs: (!is_communication && position(INPUT_SHAPES).is_some()).then(FxHashSet::default),
            without: 0,
        }
    }

    fn add(&mut self, kind: Kind, line: Option<u64>, message: String) {
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        if *count <= MOST_OF_A_KIND {
            self.findings.push(Finding { kind, file: self.path.to_owned(), line, message });
        }
    }

    /// The findings, each kind with how many more there are than are kept.
    fn finished(mut self) -> Vec<Finding> {
        let more = self.counts.iter().filter(|(_, count)| **count > MOST_OF_A_KIND);
        self.findings.extend(more.map(|(kind, count)| Finding {
            kind: *kind,
            file: self.path.to_owned(),
            line: None,
            message: format!("{} more rows with a finding of this kind are not listed", count - MOST_OF_A_KIND),
        }));
        self.findings.sort_by_key(|finding| (finding.line, finding.kind));
        self.findings
    }

    fn communication_schema(&mut self, columns: &[String]) {
        if columns != COMMUNICATION {
            let expected = COMMUNICATION.join(",");
            let what = format!(
                "not the columns of a communication table ({expected}), so it answers nothing; measure it with generate-comm-microbench"
            );
            self.add(Kind::Schema, Some(1), what);
        }
    }

    fn schema(&mut self, columns: &[String]) {
        let has = |wanted: &str| columns.iter().any(|name| name == wanted);
        let required = [INPUT_SHAPES, INPUT_TYPES, INPUT_FORMATS, OUTPUT_SHAPES, OUTPUT_TYPES];
        let missing: Vec<&str> = required.into_iter().filter(|name| !has(name)).collect();
        if !missing.is_empty() {
            let what = format!("missing columns: {}; parse the profile again", missing.join(", "));
            self.add(Kind::Schema, Some(1), what);
        }
        if self.durations.is_empty() {
            let names = DURATIONS.join(", ");
            let what = format!("no duration column, one of {names}; replay it with start-microbench");
            self.add(Kind::Schema, Some(1), what);
        }
        let old: Vec<&str> = columns.iter().map(String::as_str).filter(|name| is_old(name)).collect();
        if !old.is_empty() {
            let names = old.iter().map(|name| excerpt(name)).collect::<Vec<_>>().join(", ");
            self.add(Kind::Schema, Some(1), format!("obsolete or old columns: {names}; rename or remove them"));
        }
    }

    fn row(&mut self, row: FileRow<'_>) {
        if self.inputs.is_some() {
            self.repeated_case(row);
        }
        if !self.is_communication {
            self.shapes(row);
        }
        if !self.durations.is_empty() {
            self.durations(row);
        }
    }

    fn replay(&mut self, row: FileRow<'_>, operator: &str, columns: &[String], refusal: &Refusal<'_>) {
        let texts: Vec<_> = (0..columns.len()).map(|column| row.cell(column)).collect();
        let cells: Vec<&str> = texts.iter().map(|text| text.as_ref()).collect();
        if let Some(reason) = refusal(operator, columns, &cells) {
            self.add(Kind::NotReplayable, Some(row.line), format!("op-replay refuses this row: {}", excerpt(&reason)));
        }
    }

    fn shapes(&mut self, row: FileRow<'_>) {
        for (shapes, shape_column, types, type_column) in self.shapes {
            let Some(shape_column) = shape_column else { continue };
            let cell = row.cell(shape_column);
            let slots = split(&cell);
            let bad = slots.iter().find(|slot| dimensions(&normal_shape(slot)).is_none());
            if let Some(bad) = bad {
                let what = format!("{shapes}: {} is no shape; the simulator passes over this row", excerpt(bad));
                self.add(Kind::Shape, Some(row.line), what);
                continue;
            }
            let Some(type_column) = type_column else { continue };
            let type_count = split(&row.cell(type_column)).len();
            if slots.len() != type_count {
                let what = format!(
                    "{} slots in {shapes}, {type_count} in {types}; shapes and types do not go together",
                    slots.len()
                );
                self.add(Kind::Shape, Some(row.line), what);
            } else if shapes == INPUT_SHAPES
                && let Some(unknown) = unknown_type(&slots, &split(&row.cell(type_column)))
            {
                let what = format!("{types}: {unknown}; queries pass over this row");
                self.add(Kind::PassedOver, Some(row.line), what);
            }
        }
    }

    /// Finds a row that an earlier one makes unreachable.
    fn repeated_case(&mut self, row: FileRow<'_>) {
        let texts = self.signature.texts(|column| row.cell(column));
        let (signature, exact) = (self.rules.signature(&texts.cells()), self.rules.exact(&texts.cells()));
        if let Some(inputs) = &mut self.inputs {
            inputs.insert(signature.parts().take(3).collect::<Vec<_>>().join("\u{1f}"));
        }
        let first = *self.first_rows.entry((signature, exact)).or_insert(row.line);
        let [identity, looked_up] = self.identity.of_row_and_lookup(|column| row.cell(column));
        let same = *self.first_equal.entry(identity).or_insert(row.line);
        let alike = *self.first_looked_up.entry(looked_up).or_insert(row.line);
        let what = if same != row.line {
            format!("the same case as line {same}, which alone is updated and answers; remove one of them")
        } else if alike != row.line {
            format!(
                "lookups take this row for that of line {alike}, which alone is updated and answers; only descriptions differ"
            )
        } else if first != row.line {
            format!(
                "start-microbench takes this row for that of line {first} and updates only the first of these rows; lookups keep them apart"
            )
        } else {
            return;
        };
        self.add(Kind::DuplicateSignature, Some(row.line), what);
    }

    fn durations(&mut self, row: FileRow<'_>) {
        let mut has_valid = false;
        for at in 0..self.durations.len() {
            let (name, column) = self.durations[at];
            let cell = row.cell(column);
            has_valid |= is_valid(number(&cell));
            self.duration(row, name, &cell);
        }
        self.without += usize::from(!has_valid);
        if let Some(columns) = self.measured_and_profiled {
            let [measured_us, profiled_us] = columns.map(|column| number(&row.cell(column)));
            self.outlier(row, measured_us, profiled_us);
        }
    }

    fn missing_durations(&mut self, rows: usize) {
        if self.without > 0 {
            let way_out = if self.is_communication {
                "measure them with generate-comm-microbench"
            } else {
                "replay them with start-microbench, missing durations alone"
            };
            let what = format!("{} of {rows} row(s) without a valid duration; {way_out}", self.without);
            self.add(Kind::NoDuration, None, what);
        }
    }

    fn duration(&mut self, row: FileRow<'_>, name: &str, cell: &str) {
        let is_fine =
            trim(cell).is_empty() || parse_float(cell).is_some_and(|duration| duration == 0.0 || is_valid(duration));
        if !is_fine {
            let what = format!("{name} is {}, which is no duration; measure this row again", excerpt(trim(cell)));
            self.add(Kind::BadDuration, Some(row.line), what);
        }
    }

    fn outlier(&mut self, row: FileRow<'_>, measured_us: f64, profiled_us: f64) {
        let ratio = measured_us / profiled_us;
        if is_valid(measured_us) && is_valid(profiled_us) && !(0.2..=5.0).contains(&ratio) {
            let what = format!(
                "measured {} us is {} times the profiled {} us; measure this row again",
                readable(measured_us),
                readable(ratio),
                readable(profiled_us)
            );
            self.add(Kind::OutlierDuration, Some(row.line), what);
        }
    }
}

/// The first input whose type no query can have.
fn unknown_type(shapes: &[&str], types: &[&str]) -> Option<String> {
    let is_unknown = |(shape, name): &(&&str, &&str)| !normal_shape(shape).is_empty() && !is_a_type(name);
    let (at, (_, name)) = shapes.iter().zip(types).enumerate().find(|(_, pair)| is_unknown(pair))?;
    Some(match *name {
        "" => format!("input {} has none", at + 1),
        name => format!("{} of input {} is not a data type", excerpt(name), at + 1),
    })
}

fn is_a_type(name: &str) -> bool {
    DType::from_database(name).is_some()
}

/// Whether tables of today have another name for a column, or none.
fn is_old(name: &str) -> bool {
    let is_old_metric = || name.strip_prefix("Average ").is_some_and(|metric| METRICS.contains(&metric));
    OBSOLETE.contains(&name)
        || name == OLD_MEASURED_DURATION
        || matches!(name, "Median Duration(us)" | "Std Duration(us)" | "avg_seq_len")
        || is_old_metric()
}

/// A number with three digits; far from 1 as a power of ten.
fn readable(number: f64) -> String {
    match number {
        number if (0.001..1e7).contains(&number) => {
            let text = format!("{number:.3}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        number => format!("{number:.1e}"),
    }
}
