//! Programs that a run starts and waits for.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use perfdb_files::process;

use perfdb_files::interrupt::Interrupt;

/// How often the request to stop is looked at.
const TICK: Duration = Duration::from_millis(20);

/// Runs a program to its end in a process group of its own. The request to stop is handed on to the
/// group once, and waited for.
pub(crate) fn run_to_end(command: &mut Command, interrupt: &Interrupt) -> io::Result<ExitStatus> {
    tracing::info!("starting {command:?}");
    let mut child = process::spawn(command.process_group(0))?;
    let mut is_signalled = false;
    loop {
        if let Some(status) = child.try_wait()? {
            tracing::info!("{} ended: {status}", command.get_program().display());
            return Ok(status);
        }
        if let Some(signal) = interrupt.signal().filter(|_| !is_signalled) {
            is_signalled = true;
            if let (Ok(group), Ok(signal)) = (i32::try_from(child.id()), Signal::try_from(signal)) {
                let _ = killpg(Pid::from_raw(group), signal);
            }
        }
        std::thread::sleep(TICK);
    }
}

/// The exit status as a number, negative for a signal.
pub(crate) fn exit_number(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| -status.signal().unwrap_or_default())
}
