//! Predicted time and counts per kernel type, added in file order.

use super::chunk::{Chunk, Record};
use crate::event::EventFault;
use crate::process::{Choice, LocatedFault, NotChosen, Processes, globally};
use indexmap::{IndexMap, IndexSet};
use perfdb_store::op_mapping::{Lookup, OpMapping};
use rustc_hash::FxBuildHasher;

/// How many function names a kernel type shows.
const SHOWN_FUNCTIONS: usize = 3;

/// The predicted side of one kernel type.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Predicted {
    /// Sum of the durations in microseconds.
    pub total_us: f64,
    /// Number of contributions.
    pub count: u64,
    /// How many of them were found in the database.
    pub hits: u64,
    /// How many were not.
    pub misses: u64,
    /// The first three operators, without `torch.ops.`, in order of first appearance.
    pub functions: Vec<String>,
}

/// The sums over a trace, for every process that may turn out to be the profiling model's.
#[derive(Debug)]
pub(super) struct Totals<'m> {
    mapping: &'m OpMapping,
    lookup: Lookup,
    operators: IndexMap<Box<str>, Operator, FxBuildHasher>,
    kernels: IndexSet<Box<str>, FxBuildHasher>,
    functions: IndexSet<Box<str>, FxBuildHasher>,
    processes: Processes,
    /// The sums of each process.
    sums: Vec<Process>,
    /// Whether the mapping had an entry for any operator.
    mapping_used: bool,
    /// Number of events so far.
    events: u64,
}

#[derive(Debug)]
struct Operator {
    function: u32,
    zero_cost: bool,
    /// Kernel type of a miss.
    miss: Result<u32, EventFault>,
}

#[derive(Debug, Default)]
struct Process {
    /// Kernel type to sums.
    rows: IndexMap<u32, Sums, FxBuildHasher>,
    fault: Option<LocatedFault>,
}

#[derive(Debug, Default)]
struct Sums {
    total_us: f64,
    hits: u64,
    misses: u64,
    functions: Vec<u32>,
}

/// The process that counts, and how it was found.
pub(super) struct Chosen {
    pub(super) rows: IndexMap<String, Predicted>,
    /// The pid, when it was the only one there was.
    pub(super) sole_pid: Option<String>,
    pub(super) mapping_used: bool,
}

impl<'m> Totals<'m> {
    pub(super) fn new(mapping: &'m OpMapping, lookup: Lookup) -> Totals<'m> {
        Totals {
            mapping,
            lookup,
            operators: IndexMap::default(),
            kernels: IndexSet::default(),
            functions: IndexSet::default(),
            processes: Processes::default(),
            sums: Vec::new(),
            mapping_used: false,
            events: 0,
        }
    }

    /// Adds what a chunk contributes. Chunks come in file order.
    pub(super) fn add(&mut self, chunk: Chunk) {
        let first_event = self.events;
        self.events += chunk.events;
        let operators: Vec<usize> = chunk.operators.keys().map(|name| self.operator(name)).collect();
        let kernels: Vec<u32> = chunk.kernels.into_iter().map(|name| self.kernels.insert_full(name).0 as u32).collect();
        let processes = self.processes.add(chunk.pids);
        let known = processes.iter().max().map_or(0, |last| last + 1).max(self.sums.len());
        self.sums.resize_with(known, Process::default);
        let located = |mut fault: LocatedFault| {
            fault.event += first_event;
            fault
        };
        for record in chunk.records {
            match record {
                Record::Hit { pid, operator, kernel, time_us } => {
                    self.count(
                        processes[pid as usize],
                        operators[operator as usize],
                        Some(kernels[kernel as usize]),
                        time_us,
                    );
                }
                Record::Miss { pid, operator, time_us, location } => {
                    let (pid, operator) = (processes[pid as usize], operators[operator as usize]);
                    if let Err(fault) = &self.operators[operator].miss {
                        let (event, offset) = chunk.miss_locations.get(location as usize).copied().unwrap_or_default();
                        let fault = located(LocatedFault { event, offset, fault: fault.clone() });
                        self.fault(pid, Some(operator), fault);
                    } else {
                        self.count(pid, operator, None, time_us);
                    }
                }
                Record::Fault(record) => {
                    let fault = located(record.fault);
                    let Some(pid) = record.pid else {
                        self.processes.without_pid(fault);
                        continue;
                    };
                    self.fault(processes[pid as usize], record.operator.map(|at| operators[at as usize]), fault);
                }
                Record::ProcessName(named) => self.processes.name(globally(*named, &processes, first_event)),
            }
        }
    }

    /// Adds one contribution; without a kernel type it is a miss.
    #[inline]
    fn count(&mut self, process: usize, operator: usize, kernel: Option<u32>, time_us: f64) {
        if !self.processes.may_count(process) {
            return;
        }
        let operator = &self.operators[operator];
        let process = &mut self.sums[process];
        if operator.zero_cost || process.fault.is_some() {
            return;
        }
        let (row, is_hit) = match (kernel, &operator.miss) {
            (Some(kernel), _) => (kernel, true),
            (None, Ok(kernel)) => (*kernel, false),
            (None, Err(_)) => return,
        };
        let sums = process.rows.entry(row).or_default();
        sums.total_us += time_us;
        sums.hits += u64::from(is_hit);
        sums.misses += u64::from(!is_hit);
        if sums.functions.len() < SHOWN_FUNCTIONS && !sums.functions.contains(&operator.function) {
            sums.functions.push(operator.function);
        }
    }

    /// Keeps the first fault of a process. Operators without cost are not looked at.
    fn fault(&mut self, process: usize, operator: Option<usize>, fault: LocatedFault) {
        let process = &mut self.sums[process];
        if !operator.is_some_and(|at| self.operators[at].zero_cost) {
            process.fault.get_or_insert(fault);
        }
    }

    fn operator(&mut self, name: &str) -> usize {
        if let Some(at) = self.operators.get_index_of(name) {
            return at;
        }
        let entry = self.mapping.find(name, self.lookup);
        self.mapping_used |= entry.is_some();
        let (zero_cost, mapped) = match &entry {
            Some(entry) => (entry.zero_cost, entry.kernel_type.as_deref().filter(|kernel| !kernel.is_empty())),
            None => (false, None),
        };
        let odd = entry.as_ref().and_then(|entry| entry.other.get("kernel_type")).filter(|node| node.is_truthy());
        let miss = match odd {
            Some(node) => Err(EventFault::MappedKernel { operator: name.to_owned(), kind: node.kind() }),
            None => Ok(self.kernels.insert_full(mapped.unwrap_or(name).into()).0 as u32),
        };
        let function = self.functions.insert_full(name.replace("torch.ops.", "").into()).0 as u32;
        self.operators.insert_full(name.into(), Operator { function, zero_cost, miss }).0
    }

    /// The sums of the process that counts.
    pub(super) fn finish(mut self) -> Result<Chosen, NotChosen> {
        let Choice { process, sole_pid } = self.processes.choose()?;
        let mut rows = IndexMap::new();
        let mapping_used = self.mapping_used;
        if let Some(process) = process.map(|process| self.sums.swap_remove(process)) {
            if let Some(fault) = process.fault {
                return Err(NotChosen::Fault(fault));
            }
            let name = |names: &IndexSet<Box<str>, FxBuildHasher>, at: u32| {
                names.get_index(at as usize).map_or_else(String::new, |name| name.to_string())
            };
            for (kernel, sums) in process.rows {
                let predicted = Predicted {
                    total_us: sums.total_us,
                    count: sums.hits + sums.misses,
                    hits: sums.hits,
                    misses: sums.misses,
                    functions: sums.functions.iter().map(|&function| name(&self.functions, function)).collect(),
                };
                rows.insert(name(&self.kernels, kernel), predicted);
            }
        }
        Ok(Chosen { rows, sole_pid, mapping_used })
    }
}
