//! What a piece of a trace contributes, before it is known which process counts and what the mapping says.

use crate::event::{EventFault, check_args, decode, duration_us, plain_form};
use crate::process::{LocatedFault, NamedProcess, SeenPids};
use crate::sub_kernels;
use indexmap::{IndexMap, IndexSet};
use perfdb_pycompat::text::trim;
use perfdb_store::registry::parts::ALL_REDUCE;
use perfdb_trace::chrome::{Event, Field};
use perfdb_trace::scan::{Text, Value};
use rustc_hash::{FxBuildHasher, FxHashMap};

/// The members of `args` that are looked at, in the order of the positions below.
pub(super) const ARGS: [&str; 3] = ["name", "kernel_type", "sub_kernel_durations"];
const PROCESS_NAME: usize = 0;
const KERNEL_TYPE: usize = 1;
const SUB_KERNELS: usize = 2;

/// The contributions of consecutive events, texts as positions in small tables.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    /// Operator name, and whether it is an all-reduce.
    pub(super) operators: IndexMap<Box<str>, bool, FxBuildHasher>,
    pub(super) kernels: IndexSet<Box<str>, FxBuildHasher>,
    pub(super) pids: SeenPids,
    pub(super) records: Vec<Record>,
    /// Event and offset of the misses, for faults of the mapping.
    pub(super) miss_locations: Vec<(u64, u64)>,
    /// Number of events.
    pub(super) events: u64,
    /// Names of operators as the trace spells them.
    spelled_operators: FxHashMap<Box<[u8]>, u32>,
    /// Kernel types as the trace spells them.
    spelled_kernel_types: FxHashMap<Box<[u8]>, usize>,
    kernel_types: Vec<KernelType>,
}

/// The parts of a kernel type, which are separated by commas.
#[derive(Debug)]
struct KernelType {
    kernels: Vec<u32>,
    has_all_reduce: bool,
}

/// One contribution.
#[derive(Debug)]
pub(super) enum Record {
    /// Time and one count for a kernel type.
    Hit { pid: u32, operator: u32, kernel: u32, time_us: f64 },
    /// Time and one count for the kernels of the mapping.
    Miss { pid: u32, operator: u32, time_us: f64, location: u32 },
    /// An event that fails the scenario if it is looked at.
    Fault(Box<FaultRecord>),
    /// A `process_name` event: its pid, if the name is the profiling model's.
    ProcessName(Box<NamedProcess>),
}

/// A fault of an X event.
#[derive(Debug)]
pub(super) struct FaultRecord {
    /// Absent when the pid itself is missing or faulty.
    pub(super) pid: Option<u32>,
    /// Absent when the operator has no name.
    pub(super) operator: Option<u32>,
    pub(super) fault: LocatedFault,
}

impl Chunk {
    /// Takes in one event.
    pub(super) fn add(&mut self, event: &Event<'_>) {
        self.events = event.index() + 1;
        if event.has_phase("X") {
            self.add_operator(event);
        } else if let Some(named) = self.pids.named(event, PROCESS_NAME) {
            self.records.push(Record::ProcessName(Box::new(named)));
        }
    }

    fn add_operator(&mut self, event: &Event<'_>) {
        let pid = match self.pids.of_operator(event) {
            Ok(pid) => pid,
            Err(fault) => return self.fault(event, None, None, fault),
        };
        let operator = match self.operator(event) {
            Ok(operator) => operator,
            Err(fault) => return self.fault(event, Some(pid), None, fault),
        };
        let before = self.records.len();
        if let Err(fault) = self.contributions(event, pid, operator) {
            self.records.truncate(before);
            self.fault(event, Some(pid), Some(operator), fault);
        }
    }

    fn fault(&mut self, event: &Event<'_>, pid: Option<u32>, operator: Option<u32>, fault: EventFault) {
        let fault = LocatedFault::at(event, fault);
        self.records.push(Record::Fault(Box::new(FaultRecord { pid, operator, fault })));
    }

    fn operator(&mut self, event: &Event<'_>) -> Result<u32, EventFault> {
        let text = match event.field(Field::Name) {
            Some(Value::Text(name)) => name,
            Some(_) => return Err(EventFault::NotText("name")),
            None => return Err(EventFault::Missing("name")),
        };
        if let Some(&at) = self.spelled_operators.get(text.raw()) {
            return Ok(at);
        }
        let name = decode(text, "name")?;
        let is_all_reduce = name.to_ascii_lowercase().contains("all_reduce");
        let at = self.operators.insert_full(name.into(), is_all_reduce).0 as u32;
        self.spelled_operators.insert(text.raw().into(), at);
        Ok(at)
    }

    fn kernel(&mut self, name: &str) -> u32 {
        match self.kernels.get_index_of(name) {
            Some(at) => at as u32,
            None => self.kernels.insert_full(name.into()).0 as u32,
        }
    }

    fn hit(&mut self, pid: u32, operator: u32, kernel: &str, time_us: f64) {
        let kernel = self.kernel(kernel);
        self.records.push(Record::Hit { pid, operator, kernel, time_us });
    }

    fn contributions(&mut self, event: &Event<'_>, pid: u32, operator: u32) -> Result<(), EventFault> {
        check_args(event)?;
        let kernel_type = match event.arg(KERNEL_TYPE) {
            Some(Value::Text(text)) if !text.is_empty() && !text.is("?") => self.spelled_kernel_type(text)?,
            Some(Value::Text(_)) | None => return self.miss(event, pid, operator),
            Some(value) if !value.is_truthy() => return self.miss(event, pid, operator),
            Some(Value::List(_) | Value::Object(_)) => return Err(EventFault::Structured("kernel_type")),
            Some(value) => self.kernel_type(&plain_form(value, "kernel_type")?),
        };
        if let Some(Value::Text(text)) = event.arg(SUB_KERNELS)
            && let Ok(text) = text.decode()
            && let Some(parts) = sub_kernels::read(&text)?
        {
            for (kernel, time_us) in parts {
                self.hit(pid, operator, &kernel, time_us);
            }
            return Ok(());
        }
        let Some(KernelType { kernels, has_all_reduce }) = self.kernel_types.get(kernel_type) else { return Ok(()) };
        if !kernels.is_empty() {
            let time_us = duration_us(event)? / kernels.len() as f64;
            self.records.extend(kernels.iter().map(|&kernel| Record::Hit { pid, operator, kernel, time_us }));
        }
        let is_all_reduce =
            self.operators.get_index(operator as usize).is_some_and(|(_, is_all_reduce)| *is_all_reduce);
        if is_all_reduce && !has_all_reduce {
            self.hit(pid, operator, ALL_REDUCE, 0.0);
        }
        Ok(())
    }

    /// Position in `kernel_types`.
    fn spelled_kernel_type(&mut self, text: Text<'_>) -> Result<usize, EventFault> {
        if let Some(&at) = self.spelled_kernel_types.get(text.raw()) {
            return Ok(at);
        }
        let at = self.kernel_type(&decode(text, "kernel_type")?);
        self.spelled_kernel_types.insert(text.raw().into(), at);
        Ok(at)
    }

    /// Position in `kernel_types`.
    fn kernel_type(&mut self, text: &str) -> usize {
        let parts = || text.split(',').map(trim).filter(|part| !part.is_empty());
        let kernel_type = KernelType {
            kernels: parts().map(|part| self.kernel(part)).collect(),
            has_all_reduce: parts().any(|part| part == ALL_REDUCE),
        };
        self.kernel_types.push(kernel_type);
        self.kernel_types.len() - 1
    }

    fn miss(&mut self, event: &Event<'_>, pid: u32, operator: u32) -> Result<(), EventFault> {
        let time_us = duration_us(event)?;
        let location = self.miss_locations.len() as u32;
        self.miss_locations.push((event.index(), event.offset()));
        self.records.push(Record::Miss { pid, operator, time_us, location });
        Ok(())
    }
}
