//! The process that counts, found at the end of a trace.

use super::pid::Pid;
use super::seen::{LocatedFault, NamedProcess, SeenPid, SeenPids};
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

/// All processes of a trace.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    pids: IndexMap<Pid, SeenPid, FxBuildHasher>,
    decision: Decision,
    /// An X event whose pid is missing or can't be used, which counts only if no process is named.
    pid_fault: Option<LocatedFault>,
}

#[derive(Debug, Clone, Default)]
enum Decision {
    /// No process_name event has matched yet.
    #[default]
    Open,
    /// The process, as a position.
    Process(usize),
    /// The first match has no pid.
    NotFound,
    /// The search came upon this.
    Fault(LocatedFault),
}

/// The process that counts, and how it was found.
pub(crate) struct Choice {
    /// Its position; `None` for a pid that is no process's, not even its own.
    pub(crate) process: Option<usize>,
    /// The pid, when it was the only one there was.
    pub(crate) sole_pid: Option<String>,
}

/// Why no process counts.
pub(crate) enum NotChosen {
    Fault(LocatedFault),
    NoProcess(Vec<String>),
}

impl Processes {
    /// Takes in the pids of a piece of the trace, and gives their positions in the whole.
    pub(crate) fn add(&mut self, seen: SeenPids) -> Vec<usize> {
        let position = |(pid, seen): (Pid, SeenPid)| {
            let entry = self.pids.entry(pid);
            let at = entry.index();
            entry.or_insert(SeenPid { text: seen.text, has_operators: false }).has_operators |= seen.has_operators;
            at
        };
        seen.into_pids().map(position).collect()
    }

    /// Takes in a `process_name` event of the profiling model, its pid already a position in the whole; the first decides.
    pub(crate) fn name(&mut self, named: Result<Option<usize>, LocatedFault>) {
        if matches!(self.decision, Decision::Open) {
            self.decision = match named {
                Ok(Some(process)) => Decision::Process(process),
                Ok(None) => Decision::NotFound,
                Err(fault) => Decision::Fault(fault),
            };
        }
    }

    /// Takes in an X event without a usable pid.
    pub(crate) fn without_pid(&mut self, fault: LocatedFault) {
        self.pid_fault.get_or_insert(fault);
    }

    /// Whether a process may still turn out to be the one that counts.
    pub(crate) fn may_count(&self, process: usize) -> bool {
        !matches!(self.decision, Decision::Process(chosen) if chosen != process)
    }

    /// The process that counts.
    pub(crate) fn choose(self) -> Result<Choice, NotChosen> {
        let (process, sole_pid) = match self.decision {
            Decision::Process(process) => (process, None),
            Decision::Fault(fault) => return Err(NotChosen::Fault(fault)),
            Decision::Open | Decision::NotFound => {
                if let Some(fault) = self.pid_fault {
                    return Err(NotChosen::Fault(fault));
                }
                let mut found = self.pids.iter().enumerate().filter(|(_, (_, seen))| seen.has_operators);
                match (found.next(), found.next()) {
                    (Some((at, (pid, sole))), None) if !matches!(pid, Pid::Structured(_)) => {
                        (at, Some(sole.text.clone()))
                    }
                    _ => {
                        let pids = self.pids.values().filter(|seen| seen.has_operators);
                        return Err(NotChosen::NoProcess(pids.map(|seen| seen.text.clone()).collect()));
                    }
                }
            }
        };
        let is_one = self.pids.get_index(process).is_some_and(|(pid, _)| pid.equals_itself());
        Ok(Choice { process: is_one.then_some(process), sole_pid })
    }
}

/// The name of a process with its pid as a position in the whole and its fault at its place there.
pub(crate) fn globally(
    named: NamedProcess,
    positions: &[usize],
    first_event: u64,
) -> Result<Option<usize>, LocatedFault> {
    match named {
        Ok(pid) => Ok(pid.map(|pid| positions[pid as usize])),
        Err(fault) => Err(LocatedFault { event: fault.event + first_event, ..fault }),
    }
}
