//! Reading a forward-pass CSV under a [`GroupingPolicy`].

use super::cells::{Cell, CellFault, CellRule};
use super::policy::{ByteOrderMark, GroupKey, GroupingPolicy, KernelClass, ReadDuration, ReadStart};
use super::sample::{PassSample, SampleRow};
use super::totals::{Kernel, KernelTotals};
use crate::error::{Error, Outcome, Warning};
use crate::shapes::ShapeKeys;
use perfdb_pycompat::text::trim;
use perfdb_trace::kernels::{Options, Reader, Record};
use perfdb_trace::source::Source;
use std::path::Path;

const TYPE: &str = "Type";
const DURATION: &str = "Duration(us)";
const START: &str = "Start Time(us)";
const SHAPES: &str = "Input Shapes";
const STEP: &str = "Step Id";

/// How much of a cell a message shows.
const EXCERPT_CHARACTERS: usize = 60;

/// The sums over a forward-pass CSV. Several passes in it are worth a [`Warning::SeveralPasses`].
///
/// # Errors
/// When the file can't be read, or a cell has a fault that the policy does not tolerate.
pub fn read_profile(path: &Path, policy: GroupingPolicy) -> Result<Outcome<KernelTotals>, Error> {
    let mut totals = KernelTotals::new(policy);
    let mut keys = ShapeKeys::default();
    let with_shapes = policy.group_key == GroupKey::StartTypeAndShape;
    let warnings = read_profile_rows(path, policy, |row| {
        let shape_key =
            if with_shapes { keys.key(row.input_shapes).map_err(|fault| (SHAPES, fault.to_string()))? } else { "" };
        let kernel =
            Kernel { kernel_type: row.kernel_type, shape_key, start_us: row.start_us, duration_us: row.duration_us };
        totals.add(kernel).map_err(|fault| (START, fault.to_string()))
    })?;
    Ok(Outcome { result: totals, warnings })
}

/// The column whose cell is refused, and why.
type Refusal = (&'static str, String);

/// A kept row of a forward-pass CSV.
#[derive(Debug, Clone, Copy)]
struct ProfileRow<'a> {
    /// The kernel type, trimmed and not empty.
    kernel_type: &'a str,
    /// `Input Shapes` as the file has it; empty if it has none.
    input_shapes: &'a str,
    /// Start in microseconds, 0 where it is not read.
    start_us: f64,
    /// Duration in microseconds.
    duration_us: f64,
}

/// Hands over every kept row in file order; the warnings are those of [`read_profile`]. `each` gives back the column and the reason when it refuses a row.
///
/// # Errors
/// When the file can't be read, a cell has a fault that the policy does not tolerate, or `each` refuses a row.
fn read_profile_rows(
    path: &Path,
    policy: GroupingPolicy,
    mut each: impl FnMut(ProfileRow<'_>) -> Result<(), Refusal>,
) -> Result<Vec<Warning>, Error> {
    let mut source = Source::open(path)?;
    let options = match policy.byte_order_mark {
        ByteOrderMark::Removed => Options::comparison(),
        ByteOrderMark::PartOfFirstName => Options::comparison().keeping_byte_order_mark(),
    };
    let mut reader = Reader::new(&mut source, options)?;
    let columns = Columns::of(&reader);
    let mut warnings = columns.check(path, policy, reader.header())?;
    let mut sample = PassSample::default();
    while let Some(record) = reader.next_record()? {
        let refused =
            |(column, reason): Refusal| Error::Cell { path: path.to_owned(), line: record.line(), column, reason };
        columns.row(&record, &policy, &mut sample, &mut each).map_err(refused)?;
    }
    warnings.extend(sample.warning(path));
    Ok(warnings)
}

/// Where the columns are.
struct Columns {
    kernel_type: Option<usize>,
    duration: Option<usize>,
    start: Option<usize>,
    shapes: Option<usize>,
    step: Option<usize>,
}

impl Columns {
    fn of(reader: &Reader<'_>) -> Columns {
        Columns {
            kernel_type: reader.column(TYPE),
            duration: reader.column(DURATION),
            start: reader.column(START),
            shapes: reader.column(SHAPES),
            step: reader.column(STEP),
        }
    }

    /// A warning or, where the policy says so, an error for needed columns that are not there.
    fn check(&self, path: &Path, policy: GroupingPolicy, header: &[String]) -> Result<Vec<Warning>, Error> {
        let needed = [(TYPE, self.kernel_type), (DURATION, self.duration), (START, self.start), (SHAPES, self.shapes)];
        let needed = &needed[..if policy.group_key == GroupKey::StartTypeAndShape { 4 } else { 3 }];
        let mut columns: Vec<&'static str> =
            needed.iter().filter(|(_, place)| place.is_none()).map(|&(name, _)| name).collect();
        let path = path.to_owned();
        if policy.columns_required {
            return if columns.is_empty() { Ok(Vec::new()) } else { Err(Error::MissingColumns { path, columns }) };
        }
        let mut warnings = Vec::new();
        let hidden = header
            .first()
            .and_then(|name| name.strip_prefix('\u{feff}'))
            .is_some_and(|name| name.trim_matches('"') == TYPE);
        if hidden && self.kernel_type.is_none() {
            warnings.push(Warning::HiddenType { path: path.clone() });
            columns.retain(|&name| name != TYPE);
        }
        if !columns.is_empty() {
            warnings.push(Warning::MissingColumns { path, columns });
        }
        Ok(warnings)
    }

    /// Hands a record over if it counts.
    #[inline]
    fn row(
        &self,
        record: &Record<'_>,
        policy: &GroupingPolicy,
        sample: &mut PassSample,
        each: &mut impl FnMut(ProfileRow<'_>) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let Some(type_column) = self.kernel_type else { return Ok(()) };
        let kernel_type = match record.get(type_column) {
            Some(text) => text,
            None if policy.absent_type == CellRule::Error => return Err((TYPE, "the record is too short".to_owned())),
            None => return Ok(()),
        };
        let kernel_type = trim(&kernel_type);
        if kernel_type.is_empty() {
            return Ok(());
        }
        if sample.is_open() {
            self.take_sample(record, kernel_type, sample);
        }
        let class = policy.class_of(kernel_type);
        let kept = class != KernelClass::LeftOut;
        let start = match policy.read_start {
            ReadStart::EveryRow => true,
            ReadStart::KeptRows => kept,
            ReadStart::Collectives => class == KernelClass::Collective,
        };
        let number = |column: Option<usize>, name: &'static str, rules: &super::CellRules| {
            let Some(column) = column else { return Ok(Some(0.0)) };
            let cell = record.get(column);
            match rules.read(cell.as_deref()) {
                Cell::Number(number) => Ok(Some(number)),
                Cell::SkipRecord => Ok(None),
                Cell::Fault(fault) => Err((name, reason(fault, cell.as_deref()))),
            }
        };
        let mut row = ProfileRow { kernel_type, input_shapes: "", start_us: 0.0, duration_us: 0.0 };
        if kept || policy.read_duration == ReadDuration::EveryRow {
            let Some(duration_us) = number(self.duration, DURATION, &policy.duration_rules)? else { return Ok(()) };
            row.duration_us = duration_us;
        }
        if start {
            let Some(start_us) = number(self.start, START, &policy.start_rules)? else { return Ok(()) };
            row.start_us = start_us;
        }
        if !kept {
            return Ok(());
        }
        let shapes = match policy.group_key {
            GroupKey::StartTypeAndShape => self.shapes.and_then(|shapes| record.get(shapes)),
            GroupKey::StartAndType => None,
        };
        row.input_shapes = shapes.as_deref().unwrap_or_default();
        each(row)
    }

    fn take_sample(&self, record: &Record<'_>, kernel_type: &str, sample: &mut PassSample) {
        let cell = |column: Option<usize>| column.and_then(|column| record.get(column)).unwrap_or_default();
        let (start_us, duration_us, step) = (cell(self.start), cell(self.duration), cell(self.step));
        let (start_us, duration_us, step) = (&*start_us, &*duration_us, &*step);
        sample.add(SampleRow { kernel_type, start_us, duration_us, step });
    }
}

fn reason(fault: CellFault, cell: Option<&str>) -> String {
    match fault {
        CellFault::Absent => "the record is too short".to_owned(),
        CellFault::Empty => "the cell is empty, a number is needed".to_owned(),
        CellFault::Malformed => format!("not a number: {}", excerpt(cell.unwrap_or_default())),
    }
}

/// A text for a message: in quotes, cut where it is long.
pub(crate) fn excerpt(text: &str) -> String {
    match text.char_indices().nth(EXCERPT_CHARACTERS) {
        Some((end, _)) => format!("\"{}…\"", &text[..end]),
        None => format!("\"{text}\""),
    }
}
