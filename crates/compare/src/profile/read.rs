//! Reading a forward-pass CSV under a [`GroupingPolicy`].

use super::cells::{CellFault, CellRule};
use super::policy::{ByteOrderMark, Counting, GroupKey, GroupingPolicy, ReadDuration, ReadStart};
use super::sample::{PassSample, SampleRow};
use super::time::Time;
use super::totals::{Kernel, KernelTotals};
use crate::error::{Error, Outcome, Warning};
use crate::picoseconds::parse_us;
use crate::shapes::{NoShapes, ShapeKeys};
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
    let (mut warnings, sample) = read_profile_rows(path, policy, |row| {
        let shape_key =
            if with_shapes { row.shape_key(&mut keys).map_err(|fault| (SHAPES, fault.to_string()))? } else { "" };
        let kernel =
            Kernel { kernel_type: row.kernel_type, shape_key, start_us: row.start_us, duration_us: row.duration_us };
        totals.add_of(row.counting, kernel).map_err(|fault| (START, fault.to_string()))
    })?;
    warnings.extend(sample.warning(path, totals.kernel_types()));
    Ok(Outcome { result: totals, warnings })
}

/// The column whose cell is refused, and why.
pub(super) type Refusal = (&'static str, String);

/// A kept row of a forward-pass CSV.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProfileRow<'a> {
    /// The kernel type, trimmed and not empty.
    pub(super) kernel_type: &'a str,
    /// What the type means to the sums; not left out.
    pub(super) counting: Counting,
    /// The record that it is.
    record: &'a Record<'a>,
    /// Where `Input Shapes` are; `None` if the file has none.
    shapes: Option<usize>,
    /// Start in microseconds, 0 where it is not read.
    pub(super) start_us: f64,
    /// Duration in microseconds.
    pub(super) duration_us: f64,
}

impl ProfileRow<'_> {
    /// The cell of `Input Shapes` as it is written; empty where there is none.
    pub(super) fn written_shapes(&self) -> &str {
        self.shapes.and_then(|shapes| self.record.written(shapes)).unwrap_or_default()
    }

    fn shape_key<'k>(&self, keys: &'k mut ShapeKeys) -> Result<&'k str, NoShapes> {
        keys.key(self.written_shapes(), || self.shapes.and_then(|shapes| self.record.get(shapes)).unwrap_or_default())
    }
}

/// Hands over every kept row in file order; the warnings are those of [`read_profile`] but for several passes, which the sample
/// tells. `each` gives back a number for what the row is a run of, or the column and the reason when it refuses the row.
///
/// # Errors
/// When the file can't be read, a cell has a fault that the policy does not tolerate, or `each` refuses a row.
pub(super) fn read_profile_rows(
    path: &Path,
    policy: GroupingPolicy,
    mut each: impl FnMut(ProfileRow<'_>) -> Result<u32, Refusal>,
) -> Result<(Vec<Warning>, PassSample), Error> {
    let mut source = Source::open(path)?;
    let options = match policy.byte_order_mark {
        ByteOrderMark::Removed => Options::comparison(),
        ByteOrderMark::PartOfFirstName => Options::comparison().keeping_byte_order_mark(),
    };
    let mut reader = Reader::new(&mut source, options)?;
    let columns = Columns::of(&reader);
    let warnings = columns.check(path, policy, reader.header())?;
    let mut sample = PassSample::default();
    while let Some(record) = reader.next_record()? {
        let refused =
            |(column, reason): Refusal| Error::Cell { path: path.to_owned(), line: record.line(), column, reason };
        columns.row(&record, &policy, &mut sample, &mut each).map_err(refused)?;
    }
    Ok((warnings, sample))
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
        each: &mut impl FnMut(ProfileRow<'_>) -> Result<u32, Refusal>,
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
        let counting = policy.counting_of(kernel_type);
        let kept = counting != Counting::LeftOut;
        let reads_start = match policy.read_start {
            ReadStart::EveryRow => true,
            ReadStart::KeptRows => kept,
            ReadStart::Collectives => counting == Counting::Collective,
        };
        let time = |column: Option<usize>, name: &'static str, rules: &super::CellRules| {
            let Some(column) = column else { return Ok(Some(Time::default())) };
            let cell = record.get(column);
            Time::read(cell.as_deref(), rules).map_err(|fault| (name, reason(fault, cell.as_deref())))
        };
        let (mut start, mut duration) = (Time::default(), Time::default());
        if kept || policy.read_duration == ReadDuration::EveryRow {
            match time(self.duration, DURATION, &policy.duration_rules)? {
                Some(read) => duration = read,
                None => return Ok(()),
            }
        }
        if reads_start {
            match time(self.start, START, &policy.start_rules)? {
                Some(read) => start = read,
                None => return Ok(()),
            }
        }
        if !kept {
            return Ok(());
        }
        let (shapes, start_us, duration_us) = (self.shapes, start.us, duration.us);
        let run_of = each(ProfileRow { kernel_type, counting, record, shapes, start_us, duration_us })?;
        if sample.is_open() {
            let start_ps = if reads_start {
                start.ps
            } else {
                self.start.and_then(|start| record.get(start)).and_then(|start| parse_us(&start))
            };
            let step = self.step.and_then(|step| record.written(step)).unwrap_or_default();
            sample.add(SampleRow { run_of, kernel_type, counting, start_ps, duration_ps: duration.ps, step });
        }
        Ok(())
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
