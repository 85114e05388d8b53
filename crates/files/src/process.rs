//! Starting programs.

use std::io;
use std::process::{Child, Command};

/// Starts a program, and logs its command line.
pub fn spawn(command: &mut Command) -> io::Result<Child> {
    let words = || std::iter::once(command.get_program()).chain(command.get_args());
    let line = || words().map(|word| crate::escape::one_line(&word.to_string_lossy())).collect::<Vec<_>>().join(" ");
    tracing::info!("starting {}", line());
    let child = command.spawn();
    if let Ok(child) = &child {
        tracing::debug!("process {} is {}", child.id(), command.get_program().to_string_lossy());
    }
    child
}
