//! One run: what is kept of its trace, step by step.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::elapsed::timeline::{TimeParts, Window};
use crate::elapsed::{self, Compared};
use crate::error::Error;
use crate::steps::{Basis, Phase, PhaseFilter};
use crate::time::{Picoseconds, milliseconds};
use crate::trace::Trace;
use crate::trust;

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Its trace, as it was given.
    pub path: String,
    /// The GPU.
    pub device: String,
    /// What a step is.
    pub per: Basis,
    /// Codes of findings after which times between events cannot be trusted.
    pub not_trusted: Vec<String>,
    /// Its steps, in order; one where the whole trace counts.
    pub steps: Vec<Step>,
    /// What the time of a step goes into: the elapsed time, its parts, classes of kernels, operators by shape.
    pub rows: Vec<Times>,
}

/// A step of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Phase, where it is known.
    pub phase: Option<Phase>,
    /// Kernels per device.
    pub kernels: f64,
}

/// Times of one thing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// What kind of thing.
    pub kind: RowKind,
    /// Its name.
    pub name: String,
    /// Kernels of all steps, per device.
    pub kernels: f64,
    /// Of each step, the mean over devices.
    pub ms: Vec<f64>,
}

/// What a row is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowKind {
    /// The elapsed time.
    Elapsed,
    /// A part of the elapsed time.
    Part,
    /// A class of kernels: the sum of their durations.
    Class,
    /// An operator with the shapes of its arguments: the sum of the durations of its kernels.
    Operator,
}

impl RowKind {
    /// Its name in JSON and tables.
    pub fn name(self) -> &'static str {
        match self {
            RowKind::Elapsed => "elapsed",
            RowKind::Part => "part",
            RowKind::Class => "class",
            RowKind::Operator => "operator",
        }
    }
}

/// Between the name of an operator and its shapes.
pub(crate) const SHAPES: char = ' ';

/// The name of the row of the elapsed time.
pub(crate) const ELAPSED: &str = "elapsed";

/// A part of the time of a step.
type Part = fn(&TimeParts) -> Picoseconds;

/// Names of the parts, and which they are.
const PARTS: [(&str, Part); 5] = [
    ("compute", |parts| parts.compute),
    ("exposed communication", |parts| parts.exposed_communication),
    ("exposed copies", |parts| parts.exposed_copies),
    ("host late", |parts| parts.host_late),
    ("device idle", |parts| parts.device_idle),
];

/// Sums of a row.
struct Sums {
    kernels: u64,
    of_steps: Vec<Picoseconds>,
}

impl Run {
    /// What is kept of a trace.
    ///
    /// # Errors
    /// When no step has the phase that is asked for, or the trace was loaded under the rules of an old release.
    pub fn of(trace: &Trace, phase: PhaseFilter) -> Result<Run, Error> {
        trace.require_phase(phase)?;
        let compared = elapsed::of_windows(trace, phase).filter(|compared| !compared.windows.is_empty());
        let compared = compared.ok_or_else(|| Error::NoKernels { path: trace.path.clone() })?;
        let steps = Steps::new(&compared);
        let count = steps.phases.len();
        let mut elapsed = vec![0; count];
        let mut parts = PARTS.map(|_| vec![0; count]);
        for (window, step) in compared.windows.iter().zip(&steps.of_windows) {
            elapsed[*step] += window.length();
            for (sums, (_, part)) in parts.iter_mut().zip(PARTS) {
                sums[*step] += part(&window.parts);
            }
        }
        let mut kernels = vec![0_u64; count];
        let mut classes: BTreeMap<&str, Sums> = BTreeMap::new();
        let mut operators: BTreeMap<u32, Sums> = BTreeMap::new();
        for (at, (kernel, context)) in trace.kernels.iter().zip(&trace.contexts).enumerate() {
            let Some(step) = steps.at(kernel.device, kernel.start).filter(|_| phase.lets(context.phase)) else {
                continue;
            };
            kernels[step] += 1;
            let new = || Sums { kernels: 0, of_steps: vec![0; count] };
            let class = classes.entry(&trace.operations[trace.operation(at) as usize]).or_insert_with(new);
            let call = trace.calls.of(at).map(|call| trace.calls.shape_of[call as usize]);
            let operator = call.map(|shape| operators.entry(shape).or_insert_with(new));
            for sums in std::iter::once(class).chain(operator) {
                sums.kernels += 1;
                sums.of_steps[step] += kernel.duration;
            }
        }
        // Shapes of one name that differ in types or work alone are one row.
        let mut by_name: BTreeMap<String, Sums> = BTreeMap::new();
        for (shape, sums) in operators {
            let shape = &trace.calls.shapes[shape as usize];
            let known = by_name
                .entry(format!("{}{SHAPES}{}", shape.operator, shape.shapes))
                .or_insert_with(|| Sums { kernels: 0, of_steps: vec![0; count] });
            known.kernels += sums.kernels;
            known.of_steps.iter_mut().zip(&sums.of_steps).for_each(|(all, time)| *all += time);
        }
        let devices = compared.devices as f64;
        let row = |kind, name: &str, kernels: u64, times: &[Picoseconds]| Times {
            kind,
            name: name.to_owned(),
            kernels: kernels as f64 / devices,
            ms: times.iter().map(|time| milliseconds(*time) / devices).collect(),
        };
        let mut rows = vec![row(RowKind::Elapsed, ELAPSED, kernels.iter().sum(), &elapsed)];
        rows.extend(PARTS.iter().zip(&parts).map(|((name, _), times)| row(RowKind::Part, name, 0, times)));
        rows.extend(classes.iter().map(|(name, sums)| row(RowKind::Class, name, sums.kernels, &sums.of_steps)));
        rows.extend(by_name.iter().map(|(name, sums)| row(RowKind::Operator, name, sums.kernels, &sums.of_steps)));
        let not_trusted = trace.report.as_ref().map(trust::times_not_trusted).unwrap_or_default();
        Ok(Run {
            path: trace.path.display().to_string(),
            device: trace.gpu_inferred(),
            per: compared.basis,
            not_trusted: not_trusted.into_iter().map(str::to_owned).collect(),
            steps: steps
                .phases
                .iter()
                .zip(kernels)
                .map(|(phase, kernels)| Step { phase: *phase, kernels: kernels as f64 / devices })
                .collect(),
            rows,
        })
    }

    /// The elapsed times of its steps, in ms.
    pub(crate) fn elapsed(&self) -> &[f64] {
        self.rows.iter().find(|row| row.kind == RowKind::Elapsed).map_or(&[], |row| &row.ms)
    }
}

/// The steps of a trace, and where each one lies.
struct Steps {
    phases: Vec<Option<Phase>>,
    /// Beside the windows.
    of_windows: Vec<usize>,
    /// Per device: start, end, and step of each window, by start.
    spans: Vec<Vec<(Picoseconds, Picoseconds, usize)>>,
}

impl Steps {
    fn new(compared: &Compared<'_>) -> Steps {
        let mut starts: BTreeMap<u32, (Picoseconds, Option<Phase>)> = BTreeMap::new();
        let pass = |window: &Window| window.pass.filter(|_| compared.basis != Basis::Whole).unwrap_or(0);
        for window in &compared.windows {
            let known = starts.entry(pass(window)).or_insert((window.start, window.phase));
            known.0 = known.0.min(window.start);
        }
        let mut order: Vec<(Picoseconds, u32, Option<Phase>)> =
            starts.into_iter().map(|(pass, (start, phase))| (start, pass, phase)).collect();
        order.sort_by_key(|(start, pass, _)| (*start, *pass));
        let numbers: FxHashMap<u32, usize> = order.iter().zip(0..).map(|((_, pass, _), step)| (*pass, step)).collect();
        let of_windows: Vec<usize> = compared.windows.iter().map(|window| numbers[&pass(window)]).collect();
        let mut spans = vec![Vec::new(); compared.timeline.devices.len()];
        for (window, step) in compared.windows.iter().zip(&of_windows) {
            spans[window.device as usize].push((window.start, window.end, *step));
        }
        for spans in &mut spans {
            spans.sort_unstable();
            // What starts at the end of the last one lies in it.
            if let Some(last) = spans.last_mut() {
                last.1 += 1;
            }
        }
        Steps { phases: order.into_iter().map(|(_, _, phase)| phase).collect(), of_windows, spans }
    }

    /// The step of an event of a device.
    fn at(&self, device: u32, start: Picoseconds) -> Option<usize> {
        let spans = self.spans.get(device as usize)?;
        let before = spans.partition_point(|(begin, ..)| *begin <= start).checked_sub(1)?;
        let (_, end, step) = spans[before];
        (start < end).then_some(step)
    }
}

#[cfg(test)]
pub(crate) mod made_up {
    use super::{ELAPSED, RowKind, Run, Step, Times};
    use crate::steps::Basis;

    /// A run of decode steps that take these ms, of which one operator takes a part and another one the rest.
    pub(crate) fn run(path: &str, elapsed: &[f64], shapes: &str) -> Run {
        let row = |kind, name: &str, part: f64| Times {
            kind,
            name: name.to_owned(),
            kernels: elapsed.len() as f64,
            ms: elapsed.iter().map(|ms| part * ms).collect(),
        };
        Run {
            path: path.to_owned(),
            device: "H100".to_owned(),
            per: Basis::Pass,
            not_trusted: Vec::new(),
            steps: vec![Step { phase: None, kernels: 2.0 }; elapsed.len()],
            rows: vec![
                row(RowKind::Elapsed, ELAPSED, 1.0),
                row(RowKind::Part, "compute", 1.0),
                row(RowKind::Class, "GEMM", 0.75),
                row(RowKind::Class, "Attention", 0.25),
                row(RowKind::Operator, &format!("aten::mm {shapes}"), 0.75),
            ],
        }
    }
}
