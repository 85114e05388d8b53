//! A worker's process: its group, its two channels, its end.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use perfdb_files::process::spawn;

use super::command::WorkerCommand;
use super::message::ToWorker;
use perfdb_files::interrupt::Interrupt;

/// How long a process group may take to end after SIGTERM.
const TERM_GRACE: Duration = Duration::from_secs(5);
/// How often a waiting driver looks at the interrupt and at the process.
const TICK: Duration = Duration::from_millis(50);
/// How long a profiler may take to export what it has recorded.
const EXPORT: Duration = Duration::from_secs(600);

/// Lines that may wait to be looked at; a worker that writes faster has to wait.
const LINES_AHEAD: usize = 256;

/// What came from the worker.
pub(super) enum Incoming {
    Line(String),
    /// A line without an end in sight.
    TooLong,
    Timeout,
    Interrupted(i32),
    Ended,
}

/// The process and the threads that read and write its channels, so that neither side can block the driver.
pub(super) struct WorkerProcess {
    child: Child,
    status: Option<ExitStatus>,
    input: Option<Sender<Vec<u8>>>,
    lines: Receiver<Option<String>>,
    /// True under a profiler, which exports after its program has ended.
    exports: bool,
}

impl WorkerProcess {
    /// Starts a worker whose lines have up to `line_mib` MiB.
    pub(super) fn start(command: &WorkerCommand, line_mib: u32) -> io::Result<WorkerProcess> {
        let longest_bytes = u64::from(line_mib) << 20;
        tracing::info!("starting the worker: {}", command.shown());
        match &command.socket {
            None => {
                let mut process = command.to_process();
                let mut child = spawn(process.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0))?;
                let (input, output) = (child.stdin.take(), child.stdout.take());
                let missing = || io::Error::other("no pipe");
                let channels = input.ok_or_else(missing).and_then(|input| Ok((input, output.ok_or_else(missing)?)));
                let channels = channels.and_then(|(input, output)| exchange(input, output, longest_bytes));
                WorkerProcess::of(child, channels, false)
            }
            Some(socket) => {
                let _ = std::fs::remove_file(socket);
                let listener = UnixListener::bind(socket)?;
                listener.set_nonblocking(true)?;
                let mut process = command.to_process();
                let child = spawn(process.stdin(Stdio::null()).stdout(io::stderr()).process_group(0))?;
                let (child, stream) = accept(&listener, child, command.connect_timeout)?;
                let channels = stream.try_clone().and_then(|output| exchange(stream, output, longest_bytes));
                WorkerProcess::of(child, channels, true)
            }
        }
    }

    /// A process with its channels; without them it is ended.
    fn of(child: Child, channels: io::Result<Channels>, exports: bool) -> io::Result<WorkerProcess> {
        let (input, lines, fault) = match channels {
            Ok((input, lines)) => (Some(input), lines, None),
            Err(error) => (None, channel().1, Some(error)),
        };
        let process = WorkerProcess { child, status: None, input, lines, exports };
        fault.map_or(Ok(process), Err)
    }

    /// Hands a message to the writing thread. A worker that has gone is noticed when its output ends.
    pub(super) fn send(&mut self, message: &ToWorker<'_>) {
        if let (Some(input), Ok(mut bytes)) = (&self.input, serde_json::to_vec(message)) {
            bytes.push(b'\n');
            let _ = input.send(bytes);
        }
    }

    pub(super) fn close_input(&mut self) {
        self.input = None;
    }

    pub(super) fn next_line(&mut self, deadline: Instant, interrupt: &Interrupt) -> Incoming {
        let mut had_ended = false;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left.min(TICK)) {
                Ok(Some(line)) => return Incoming::Line(line),
                Ok(None) => return Incoming::TooLong,
                Err(RecvTimeoutError::Disconnected) => return Incoming::Ended,
                Err(RecvTimeoutError::Timeout) if had_ended => return Incoming::Ended,
                // A process that it has started may hold its output open; what it has written itself comes within a tick.
                Err(RecvTimeoutError::Timeout) => had_ended = self.wait(Duration::ZERO).is_some(),
            }
            if let Some(signal) = interrupt.signal() {
                return Incoming::Interrupted(signal);
            }
            if left.is_zero() {
                return Incoming::Timeout;
            }
        }
    }

    /// How the process ended, after its output has: `exit code 139`, `signal 9`.
    pub(super) fn ending(&mut self) -> String {
        let limit = if self.exports { EXPORT } else { TERM_GRACE };
        if self.wait(limit).is_none() {
            self.terminate();
            return "it closed its output".to_owned();
        }
        match self.status {
            Some(status) => match (status.code(), status.signal()) {
                (Some(code), _) => format!("exit code {code}"),
                (None, Some(signal)) => format!("signal {signal}"),
                (None, None) => "an unknown end".to_owned(),
            },
            None => "an unknown end".to_owned(),
        }
    }

    /// SIGTERM to the process group, after a while SIGKILL.
    pub(super) fn terminate(&mut self) {
        self.input = None;
        if self.wait(Duration::ZERO).is_none() {
            self.signal(Signal::SIGTERM);
            if self.wait(TERM_GRACE).is_none() {
                self.signal(Signal::SIGKILL);
                self.wait(TERM_GRACE);
            }
        }
    }

    /// Waits for an orderly end; a worker that takes too long is ended.
    pub(super) fn wait_for_exit(&mut self, limit: Duration, interrupt: &Interrupt) {
        let limit = if self.exports { EXPORT } else { limit };
        let deadline = Instant::now() + limit;
        while Instant::now() < deadline && interrupt.signal().is_none() {
            if self.wait(TICK.min(deadline.saturating_duration_since(Instant::now()))).is_some() {
                return;
            }
        }
        self.terminate();
    }

    fn signal(&self, signal: Signal) {
        if let Ok(group) = i32::try_from(self.child.id()) {
            let _ = killpg(Pid::from_raw(group), signal);
        }
    }

    /// Waits for the end of the process. What it has started itself, and is left of its group, ends with it.
    fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + limit;
        let mut pause = Duration::from_micros(200);
        while self.status.is_none() {
            if self.has_ended() {
                // Before the process is reaped, so that its number still is that of its group.
                self.signal(Signal::SIGKILL);
                if let Ok(status) = self.child.wait() {
                    tracing::info!("worker {} ended: {status}", self.child.id());
                    self.status = Some(status);
                    break;
                }
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            thread::sleep(pause.min(left));
            pause = (pause * 2).min(Duration::from_millis(20));
        }
        self.status
    }

    /// Whether the process has ended; it is not reaped.
    fn has_ended(&self) -> bool {
        let Ok(id) = i32::try_from(self.child.id()) else { return false };
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        match waitid(Id::Pid(Pid::from_raw(id)), flags) {
            Ok(WaitStatus::StillAlive) | Err(Errno::EINTR) => false,
            // One that is no child any more cannot be waited for either.
            Ok(_) | Err(_) => true,
        }
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        if self.status.is_none() {
            self.terminate();
        }
    }
}

/// Where messages are put to be written, and where lines come from.
type Channels = (Sender<Vec<u8>>, Receiver<Option<String>>);

/// Starts the threads that write to and read from a worker.
fn exchange(
    mut input: impl Write + Send + 'static,
    output: impl Read + Send + 'static,
    longest_bytes: u64,
) -> io::Result<Channels> {
    let (to_write, writes) = channel::<Vec<u8>>();
    thread::Builder::new().name("to-worker".to_owned()).spawn(move || {
        for bytes in writes {
            if input.write_all(&bytes).and_then(|()| input.flush()).is_err() {
                return;
            }
        }
    })?;
    let (read, lines) = sync_channel(LINES_AHEAD);
    thread::Builder::new()
        .name("from-worker".to_owned())
        .spawn(move || read_lines(BufReader::new(output), longest_bytes, &read))?;
    Ok((to_write, lines))
}

/// Hands on the lines of a worker, `None` for one that is too long, which is the last.
fn read_lines(mut reader: impl BufRead, longest_bytes: u64, lines: &SyncSender<Option<String>>) {
    let mut bytes = Vec::new();
    while reader.by_ref().take(longest_bytes).read_until(b'\n', &mut bytes).is_ok_and(|count| count > 0) {
        let is_whole = bytes.ends_with(b"\n") || (bytes.len() as u64) < longest_bytes;
        let line = is_whole.then(|| String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']).to_owned());
        if lines.send(line).is_err() || !is_whole {
            return;
        }
        bytes.clear();
        // One long line must not hold its memory for the rest of the run.
        bytes.shrink_to(1 << 16);
    }
}

/// Waits for the worker to connect; one that ends or takes too long is an error.
fn accept(listener: &UnixListener, mut child: Child, limit: Duration) -> io::Result<(Child, UnixStream)> {
    let deadline = Instant::now() + limit;
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                return Ok((child, stream));
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        if let Some(status) = child.try_wait()? {
            return Err(io::Error::other(format!("it ended before it connected: {status}")));
        }
        if Instant::now() >= deadline {
            if let Ok(group) = i32::try_from(child.id()) {
                let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
            }
            let _ = child.wait();
            return Err(io::Error::new(io::ErrorKind::TimedOut, "it did not connect in time"));
        }
        thread::sleep(Duration::from_millis(10));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_end_is_given_up() {
        let (sender, lines) = sync_channel(8);
        read_lines(&b"one\r\ntwo\nabcdefgh"[..], 8, &sender);
        drop(sender);
        assert_eq!(lines.into_iter().collect::<Vec<_>>(), [Some("one".to_owned()), Some("two".to_owned()), None]);
        let (sender, lines) = sync_channel(8);
        read_lines(&b"last"[..], 8, &sender);
        assert_eq!(lines.recv(), Ok(Some("last".to_owned())));
    }
}
