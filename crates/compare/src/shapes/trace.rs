//! Reading the predicted side per kernel type and shape, and comparing two files.

use super::key::shape_key;
use super::met::compare_met;
use super::rows::{ShapeRow, ShapeRowKey, ShapeTotal, shape_rows};
use crate::error::{Error, Outcome};
use crate::event::{EventFault, check_args, decode, duration_us, plain_form};
use crate::fold::fold_trace;
use crate::profile::{GroupingPolicy, read_profile};
use crate::{Semantics, side_by_side, sub_kernels};
use indexmap::{IndexMap, IndexSet};
use perfdb_pycompat::text::trim;
use perfdb_trace::chrome::Event;
use perfdb_trace::scan::Value;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::path::Path;

const ARGS: [&str; 4] = ["kernel_type", "simulation_shapes", "sub_kernel_durations", "source"];
const KERNEL_TYPE: usize = 0;
const SHAPES: usize = 1;
const SUB_KERNELS: usize = 2;
const SOURCE: usize = 3;

/// A comparison per kernel type and shape.
#[derive(Debug, Clone, PartialEq)]
pub struct ShapeComparison {
    /// The rows, see [`shape_rows`].
    pub rows: Vec<ShapeRow>,
    /// The part of the measured time whose kernel types and shapes were predicted as well, up to 1; `None` without measured
    /// time.
    pub joined_share: Option<f64>,
}

/// Compares a simulator's trace with a forward-pass CSV, read side by side.
///
/// # Errors
/// When one of the files can't be read or holds what can't be used; the trace's error goes first.
pub fn compare_files(trace: &Path, profile: &Path, semantics: Semantics) -> Result<Outcome<ShapeComparison>, Error> {
    if semantics == Semantics::Corrected {
        return compare_met(trace, profile);
    }
    let policy = GroupingPolicy::shapes(semantics);
    let (predicted, profile) = side_by_side(|threads| read_predicted(trace, threads), || read_profile(profile, policy));
    let (predicted, profile) = (predicted?, profile?);
    let rows = shape_rows(predicted, profile.result.into_rows());
    let joined_share = joined_share(&rows);
    Ok(Outcome { result: ShapeComparison { rows, joined_share }, warnings: profile.warnings })
}

fn joined_share(rows: &[ShapeRow]) -> Option<f64> {
    let measured_us = |rows: &mut dyn Iterator<Item = &ShapeRow>| rows.map(|row| row.prof_dur_us.value()).sum::<f64>();
    let total_us = measured_us(&mut rows.iter());
    let joined_us = measured_us(&mut rows.iter().filter(|row| row.tc_count > 0));
    (total_us > 0.0).then(|| joined_us / total_us)
}

/// Sums the X events of all processes that have a kernel type.
///
/// # Errors
/// When the trace can't be read or one of these events can't be used.
pub fn read_predicted(trace: &Path, threads: usize) -> Result<IndexMap<ShapeRowKey, ShapeTotal, FxBuildHasher>, Error> {
    Ok(fold_trace(trace, &ARGS, threads, Totals::default, Chunk::add, Totals::add)?.value.finish())
}

type Texts = IndexSet<Box<str>, FxBuildHasher>;

fn intern(texts: &mut Texts, text: &str) -> u32 {
    match texts.get_index_of(text) {
        Some(at) => at as u32,
        None => texts.insert_full(text.into()).0 as u32,
    }
}

/// What a piece of a trace contributes, texts as positions in small tables.
#[derive(Debug, Default)]
struct Chunk {
    kernels: Texts,
    shapes: Texts,
    sources: Texts,
    /// Shapes as the trace spells them to their key.
    spelled_shapes: FxHashMap<Box<[u8]>, u32>,
    /// Sources as the trace spells them.
    spelled_sources: FxHashMap<Box<[u8]>, u32>,
    /// Kernel types as the trace spells them to their parts.
    spelled_kernels: FxHashMap<Box<[u8]>, Box<[u32]>>,
    records: Vec<Record>,
}

#[derive(Debug)]
struct Record {
    kernel: u32,
    shape: u32,
    source: u32,
    time_us: f64,
}

impl Chunk {
    fn add(&mut self, event: &Event<'_>) -> Result<(), EventFault> {
        if !event.has_phase("X") {
            return Ok(());
        }
        check_args(event)?;
        let Some(kernel_type) = event.arg(KERNEL_TYPE).filter(Value::is_truthy) else { return Ok(()) };
        let shape = self.shape(event.arg(SHAPES))?;
        let source = self.source(event.arg(SOURCE))?;
        if let Some(Value::Text(text)) = event.arg(SUB_KERNELS)
            && let Ok(text) = text.decode()
            && let Some(parts) = sub_kernels::read(&text)?
        {
            for (kernel, time_us) in parts {
                self.count(&kernel, shape, source, time_us);
            }
            return Ok(());
        }
        let Value::Text(kernel_type) = kernel_type else { return Err(EventFault::NotText("kernel_type")) };
        if !self.spelled_kernels.contains_key(kernel_type.raw()) {
            let kernels = self.kernels_of(&decode(kernel_type, "kernel_type")?);
            self.spelled_kernels.insert(kernel_type.raw().into(), kernels);
        }
        let kernels = self.spelled_kernels.get(kernel_type.raw()).map_or(&[][..], |kernels| kernels);
        let time_us = duration_us(event)? / kernels.len() as f64;
        self.records.extend(kernels.iter().map(|&kernel| Record { kernel, shape, source, time_us }));
        Ok(())
    }

    /// The parts of a kernel type that are separated by commas; the whole of it where it has one.
    fn kernels_of(&mut self, kernel_type: &str) -> Box<[u32]> {
        let parts = || kernel_type.split(',').map(trim).filter(|part| !part.is_empty());
        match parts().count() {
            0 | 1 => [intern(&mut self.kernels, kernel_type)].into(),
            _ => parts().map(|part| intern(&mut self.kernels, part)).collect(),
        }
    }

    fn source(&mut self, source: Option<Value<'_>>) -> Result<u32, EventFault> {
        Ok(match source {
            None | Some(Value::Null) => intern(&mut self.sources, ""),
            Some(Value::Text(text)) => match self.spelled_sources.get(text.raw()) {
                Some(&source) => source,
                None => {
                    let source = intern(&mut self.sources, &decode(text, "source")?);
                    self.spelled_sources.insert(text.raw().into(), source);
                    source
                }
            },
            Some(value) => intern(&mut self.sources, &plain_form(value, "source")?),
        })
    }

    fn count(&mut self, kernel: &str, shape: u32, source: u32, time_us: f64) {
        let kernel = intern(&mut self.kernels, kernel);
        self.records.push(Record { kernel, shape, source, time_us });
    }

    fn shape(&mut self, shapes: Option<Value<'_>>) -> Result<u32, EventFault> {
        let text = match shapes {
            None => return Ok(intern(&mut self.shapes, "")),
            Some(Value::Text(text)) => text,
            Some(_) => return Err(EventFault::NotText("simulation_shapes")),
        };
        if let Some(&shape) = self.spelled_shapes.get(text.raw()) {
            return Ok(shape);
        }
        let shape = intern(&mut self.shapes, &shape_key(&decode(text, "simulation_shapes")?)?);
        self.spelled_shapes.insert(text.raw().into(), shape);
        Ok(shape)
    }
}

/// The sums over a trace.
#[derive(Debug, Default)]
struct Totals {
    kernels: Texts,
    shapes: Texts,
    sources: Texts,
    rows: IndexMap<(u32, u32), Sums, FxBuildHasher>,
}

#[derive(Debug, Default)]
struct Sums {
    total_us: f64,
    count: u64,
    source: u32,
}

impl Totals {
    /// Adds what a chunk contributes; chunks come in file order.
    fn add(&mut self, chunk: Chunk) {
        let globally = |texts: &mut Texts, local: Texts| -> Vec<u32> {
            local.into_iter().map(|text| texts.insert_full(text).0 as u32).collect()
        };
        let kernels = globally(&mut self.kernels, chunk.kernels);
        let shapes = globally(&mut self.shapes, chunk.shapes);
        let sources = globally(&mut self.sources, chunk.sources);
        for record in chunk.records {
            let row = (kernels[record.kernel as usize], shapes[record.shape as usize]);
            let sums = self.rows.entry(row).or_default();
            sums.total_us += record.time_us;
            sums.count += 1;
            sums.source = sources[record.source as usize];
        }
    }

    fn finish(self) -> IndexMap<ShapeRowKey, ShapeTotal, FxBuildHasher> {
        let name = |texts: &Texts, at: u32| texts.get_index(at as usize).cloned().unwrap_or_default();
        self.rows
            .into_iter()
            .map(|((kernel, shape), sums)| {
                let source = name(&self.sources, sums.source).into();
                let total = ShapeTotal { total_us: sums.total_us, count: sums.count, source };
                ((name(&self.kernels, kernel), name(&self.shapes, shape)), total)
            })
            .collect()
    }
}
