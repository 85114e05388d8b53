//! `kernel_details.csv` and `op_summary.csv` of Ascend's profiler.

use rustc_hash::{FxHashMap, FxHashSet};

use super::ascend_classes;
use super::model::{Kernel, Kind, Mark, Profile, RowSteps, StepBasis};
use super::rows::Kernels;
use crate::Error;
use crate::blocks::{BLOCK_BYTES, Blocks};
use crate::kernel_table::{Places, Record, is_collective, time};
use crate::names::NameId;
use crate::records::Splitter;
use crate::source::Source;
use crate::time::{MICROSECOND, Picoseconds};

/// A pause between passes.
const PAUSE: Picoseconds = 1_000 * MICROSECOND;
/// Rows that a pass has, at least.
const ROWS: usize = 20;

/// What a stream or a device is numbered that has another text than a number; further ones follow below.
const FIRST_WITHOUT_NUMBER: i64 = -1;

/// Reads a table.
pub(super) fn read(source: Source) -> Result<Profile, Error> {
    let path = source.path().to_owned();
    let failed = |source| Error::Io { path: path.clone(), source };
    let mut blocks = Blocks::new(source.into_reader(), BLOCK_BYTES);
    let mut table: Option<Table> = None;
    let (mut buffer, mut cells) = (Vec::new(), Vec::new());
    while let Some(block) = blocks.next_block(buffer).map_err(failed)? {
        let text = match table {
            None => block.text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&block.text),
            Some(_) => &block.text,
        };
        let mut splitter = Splitter::new(text);
        while splitter.next_record(&mut cells).is_some() {
            let record = Record { text, cells: &cells };
            match &mut table {
                None => table = Some(Table::new(Places::new(&record.names()))),
                Some(table) => table.take(&record),
            }
        }
        buffer = block.text;
    }
    let table = table.unwrap_or_else(|| Table::new(Places::default()));
    let missing = table.places.missing();
    if !missing.is_empty() {
        let reason = format!(
            "a table without the column {}, so it has no kernels with their times: give kernel_details.csv or op_summary.csv",
            missing.join(" and ")
        );
        return Err(Error::Profile { path, reason });
    }
    Ok(table.finish())
}

struct Table {
    places: Places,
    profile: Profile,
    /// Numbers of streams and devices whose text is not a number.
    others: FxHashMap<String, i64>,
    /// Names of steps, and their numbers by name.
    steps: Vec<String>,
    numbers: FxHashMap<String, u32>,
    of_kernels: Vec<Option<u32>>,
    /// By number of the name, whether it is of a collective.
    communicates: Vec<bool>,
    collectives: FxHashSet<(i64, Picoseconds, Picoseconds, NameId)>,
}

impl Table {
    fn new(places: Places) -> Table {
        Table {
            places,
            profile: Profile::new(Kind::AscendTable),
            others: FxHashMap::default(),
            steps: Vec::new(),
            numbers: FxHashMap::default(),
            of_kernels: Vec::new(),
            communicates: Vec::new(),
            collectives: FxHashSet::default(),
        }
    }

    fn take(&mut self, record: &Record<'_>) {
        let places = self.places.clone();
        let (start, duration) = (time(&record.cell(places.start)), time(&record.cell(places.duration)));
        let (Some(start), Some(duration @ 0..)) = (start, duration) else {
            self.profile.skipped += 1;
            return;
        };
        let (kind, name) = (record.cell(places.kind), record.cell(places.name));
        let marked = is_collective(&kind, &record.cell(places.core)) || has_start(&name, "hcom");
        let device = match &*record.cell(places.device) {
            "" => 0,
            text => self.number(text),
        };
        let stream = self.number(&record.cell(places.stream));
        // Names have the number of the instance in them, types do not.
        let name = self.profile.names.text(if kind.is_empty() { &name } else { &kind });
        let communicates = marked || self.is_communication(name);
        // A collective often stands there twice, on no stream and on that of the hardware.
        if communicates && !self.collectives.insert((device, start, duration, name)) {
            self.profile.repeated += 1;
            return;
        }
        let mark = if communicates { Mark::Collective } else { Mark::Nothing };
        self.profile.kernels.push(Kernel { start, duration, name, device, stream, launch: None, mark });
        let step = match &*record.cell(places.step) {
            "" | "N/A" => None,
            text => Some(self.step(text)),
        };
        self.of_kernels.push(step);
    }

    /// Whether a type is of a collective, asked once per type.
    fn is_communication(&mut self, name: NameId) -> bool {
        let names = &self.profile.names;
        let known = self.communicates.len()..names.len();
        let class = |name: usize| ascend_classes::of_type(names.get(name as NameId));
        self.communicates.extend(known.map(|name| class(name) == ascend_classes::COMMUNICATION));
        self.communicates.get(name as usize).copied().unwrap_or(false)
    }

    fn number(&mut self, text: &str) -> i64 {
        if let Ok(number @ 0..) = text.parse() {
            return number;
        }
        let next = FIRST_WITHOUT_NUMBER - self.others.len() as i64;
        *self.others.entry(text.to_owned()).or_insert(next)
    }

    fn step(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.steps.len() as u32;
        self.steps.push(format!("Step Id {text}"));
        self.numbers.insert(text.to_owned(), number);
        number
    }

    fn finish(mut self) -> Profile {
        self.profile.steps = if self.steps.is_empty() {
            by_pauses(&self.profile.kernels)
        } else {
            Some(RowSteps { basis: StepBasis::Column, names: self.steps, of_kernels: self.of_kernels })
        };
        self.profile
    }
}

fn has_start(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|first| first.eq_ignore_ascii_case(start))
}

/// Steps of equally many rows with pauses between them, on a single device.
fn by_pauses(kernels: &Kernels) -> Option<RowSteps> {
    let device = kernels.get(0)?.device;
    if kernels.iter().any(|kernel| kernel.device != device) {
        return None;
    }
    let mut order: Vec<Kernel> = kernels.iter().filter(|kernel| kernel.duration > 0).collect();
    order.sort_by_key(|kernel| kernel.start);
    let mut cuts = vec![order.first()?.start];
    let mut until = order.first()?.start;
    for kernel in order {
        if kernel.start - until > PAUSE {
            cuts.push(kernel.start);
        }
        until = until.max(kernel.start + kernel.duration);
    }
    let piece = |kernel: Kernel| {
        let behind = cuts.partition_point(|cut| *cut <= kernel.start);
        behind.checked_sub(1).map(|piece| piece as u32)
    };
    let of_kernels: Vec<Option<u32>> = kernels.iter().map(piece).collect();
    let mut sizes = vec![0_usize; cuts.len()];
    of_kernels.iter().flatten().for_each(|piece| sizes[*piece as usize] += 1);
    let first = *sizes.first()?;
    let alike = sizes.iter().all(|size| *size >= ROWS && 10 * size.abs_diff(first) <= first);
    let names = (0..cuts.len()).map(|piece| format!("pass {piece}")).collect();
    (cuts.len() > 1 && alike).then_some(RowSteps { basis: StepBasis::Pause, names, of_kernels })
}
