//! Starting programs.

use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use std::io;
use std::process::{Child, Command};

/// Starts a program with the signals that end programs let through, even where this one waits for them in a thread of its own
/// and has blocked them: a child inherits that, and could then only be killed.
pub fn spawn(command: &mut Command) -> io::Result<Child> {
    let ending = SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]);
    let before = ending.thread_swap_mask(SigmaskHow::SIG_UNBLOCK)?;
    let child = command.spawn();
    before.thread_set_mask()?;
    child
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn a_child_can_be_ended_although_its_parent_has_blocked_the_signal() -> io::Result<()> {
        let mut terminate = SigSet::empty();
        terminate.add(Signal::SIGTERM);
        terminate.thread_block()?;
        let status = spawn(Command::new("sh").args(["-c", "kill -TERM $$; exit 0"]))?.wait()?;
        assert_eq!(status.signal(), Some(Signal::SIGTERM as i32));
        assert!(SigSet::thread_get_mask()?.contains(Signal::SIGTERM));
        Ok(())
    }
}
