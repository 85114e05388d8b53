//! Faults on request, for tests alone: `PERFDB_FAULT=<n>:<kind>` has the n-th call that changes a file (from 1) meet with a fault.
//!
//! Kinds: `kill`, `term`, `int` and `hup` send that signal in front of the call; `enospc` and `eio` have the call fail; `eintr` and `enolck` have the
//! n-th attempt to lock fail. A fault that happened is printed on stderr as `fault: <call>`.

use nix::errno::Errno;
use nix::sys::signal::{Signal, raise};
use std::io::{self, Write};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

static WANTED: LazyLock<Option<(u64, String)>> = LazyLock::new(|| {
    let text = std::env::var("PERFDB_FAULT").ok()?;
    let (number, kind) = text.split_once(':')?;
    Some((number.parse().ok()?, kind.to_owned()))
});
static CALLS: AtomicU64 = AtomicU64::new(0);

/// The call that does not change a file.
pub(crate) const LOCK: &str = "lock";

pub(crate) fn meet(call: &str) -> io::Result<()> {
    let Some((number, kind)) = WANTED.as_ref() else { return Ok(()) };
    if matches!(kind.as_str(), "eintr" | "enolck") != (call == LOCK) {
        return Ok(());
    }
    if CALLS.fetch_add(1, Ordering::SeqCst) + 1 != *number {
        return Ok(());
    }
    let _ = writeln!(io::stderr(), "fault: {call}");
    let signal = match kind.as_str() {
        "kill" => Signal::SIGKILL,
        "term" => Signal::SIGTERM,
        "int" => Signal::SIGINT,
        "hup" => Signal::SIGHUP,
        "eintr" => return Err(Errno::EINTR.into()),
        "enolck" => return Err(Errno::ENOLCK.into()),
        "enospc" => return Err(Errno::ENOSPC.into()),
        _ => return Err(Errno::EIO.into()),
    };
    raise(signal)?;
    Ok(())
}
