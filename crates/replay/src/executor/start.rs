//! Starts executors for a run.

use crate::backend::Backend;
use crate::executor::native::{NativeExecutor, NativeSettings};
use crate::executor::worker::command::{Ranks, WorkerCommand};
use crate::executor::worker::{Listener, WorkerExecutor, WorkerSettings};
use crate::executor::{Executor, StartError};
use crate::session::Starters;
use crate::settings::RunSettings;
use perfdb_files::interrupt::Interrupt;

/// The starters of a run's backend. What workers send beside their answers goes to `listener`.
pub fn starters<'a>(settings: &'a RunSettings, interrupt: &Interrupt, listener: &Listener) -> Starters<'a> {
    let (stop, listen) = (interrupt.clone(), listener.clone());
    let single = move |device: Option<&str>| -> Result<Box<dyn Executor>, StartError> {
        if settings.backend == Backend::Native {
            return Ok(Box::new(NativeExecutor::start(native_settings(settings), stop.clone(), &listen)?));
        }
        let mut command = worker_command(settings)?;
        if let (Some(device), Some(variable)) = (device, settings.backend.visible_devices_variable()) {
            command = command.with_variable(variable, device);
        }
        start_worker(settings, command, &stop, &listen)
    };
    let (stop, listen) = (interrupt.clone(), listener.clone());
    let ranks = move |_: Option<&str>| -> Result<Box<dyn Executor>, StartError> {
        let launch = &settings.launch;
        let master_port = launch.master_port.map_or_else(free_port, Ok)?;
        let ranks = Ranks {
            per_node: launch.per_node.unwrap_or(settings.dispatch.ep_size),
            nodes: launch.nodes,
            node_rank: launch.node_rank,
            master_addr: launch.master_addr.clone(),
            master_port,
        };
        let command = worker_command(settings)?.on_ranks(&settings.worker.python, &ranks);
        start_worker(settings, command, &stop, &listen)
    };
    Starters { single: Box::new(single), ranks: Box::new(ranks) }
}

fn native_settings(settings: &RunSettings) -> NativeSettings {
    NativeSettings { threads: settings.threads, seed: settings.seed, case_timeout: settings.limits.case_timeout }
}

fn worker_command(settings: &RunSettings) -> Result<WorkerCommand, StartError> {
    let command = match &settings.worker.command {
        Some(command) => WorkerCommand::custom(command),
        None => WorkerCommand::shipped(&settings.worker.python),
    };
    command.map_err(|error| StartError::Environment(error.to_string()))
}

fn start_worker(
    settings: &RunSettings,
    mut command: WorkerCommand,
    interrupt: &Interrupt,
    listener: &Listener,
) -> Result<Box<dyn Executor>, StartError> {
    if settings.worker.msprof {
        command = command
            .under_msprof(&settings.output, settings.limits.worker_start_timeout)
            .map_err(|error| StartError::Environment(error.to_string()))?;
    }
    let worker = WorkerSettings {
        backend: settings.backend,
        seed: settings.seed,
        exact_init: settings.dump_outputs,
        start_timeout: settings.limits.worker_start_timeout,
        case_timeout: settings.limits.case_timeout,
        line_mib: settings.limits.worker_line_mib,
    };
    Ok(Box::new(WorkerExecutor::start(command, &worker, interrupt, listener)?))
}

fn free_port() -> Result<u16, StartError> {
    perfdb_files::network::free_port().map_err(|error| StartError::Environment(format!("no free port: {error}")))
}
