//! Finds and ends the processes of a run, however far they have strayed from their parents.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::time::{Duration, Instant};

/// The variable that all processes of a run inherit.
pub(super) const RUN_VARIABLE: &str = "PERFDB_COMM_RUN";

/// A text that no other run on this machine has.
pub(crate) fn new_run_mark() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    format!("{}-{}", std::process::id(), now.as_nanos())
}

/// Whether the process is there and not merely waiting to be reaped.
pub(crate) fn is_running(pid: i32) -> bool {
    match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        // The state follows the name, which stands in parentheses and may itself hold some.
        Ok(stat) => !matches!(stat.rsplit_once(") ").map(|(_, rest)| rest.as_bytes().first()), Some(Some(b'Z' | b'X'))),
        Err(_) => false,
    }
}

/// Processes whose environment carries the mark: launchers start ranks in sessions of their own, so neither process groups
/// nor parents find them all.
fn processes_of(mark: &str) -> Vec<i32> {
    let wanted = format!("{RUN_VARIABLE}={mark}");
    let own = std::process::id() as i32;
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| *pid != own)
        .filter(|pid| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
        })
        .filter(|pid| is_running(*pid))
        .collect()
}

/// Ends every process of the run and returns when none is left (or none goes away any more).
pub(super) fn end_all(mark: &str) {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(10) {
        let left = processes_of(mark);
        if left.is_empty() {
            return;
        }
        for pid in left {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_found_by_their_mark_and_ended() {
        let mark = new_run_mark();
        // In a session of its own and with a parent that is gone.
        let mut child = std::process::Command::new("sh")
            .args(["-c", "setsid sleep 600 & sleep 600"])
            .env(RUN_VARIABLE, &mark)
            .spawn()
            .unwrap();
        // Until both sleep: a process that is just becoming another program has no environment to be found by.
        let sleeping =
            |pid: &i32| std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "sleep");
        let start = Instant::now();
        while processes_of(&mark).iter().filter(|pid| sleeping(pid)).count() < 2
            && start.elapsed() < Duration::from_secs(20)
        {
            std::thread::yield_now();
        }
        assert_eq!(processes_of(&mark).len(), 3);
        assert!(is_running(child.id() as i32));
        end_all(&mark);
        assert_eq!(processes_of(&mark), Vec::<i32>::new());
        assert!(!is_running(child.id() as i32));
        child.wait().unwrap();
    }
}
