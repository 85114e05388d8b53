//! Progress of long work, on stderr, only on a terminal and without `--quiet` and `--no-progress`.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use perfdb_trace::source::Progress;
use std::cell::Cell;
use std::io::IsTerminal as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

static CURRENT: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Whether `--no-progress` was given.
static OFF: AtomicBool = AtomicBool::new(false);

/// Whether the tool shows progress itself.
static OF_TOOL: AtomicBool = AtomicBool::new(false);

pub(crate) fn set_off(off: bool) {
    OFF.store(off, Ordering::Relaxed);
}

fn is_hidden() -> bool {
    crate::quiet() || OFF.load(Ordering::Relaxed)
}

/// A bar over bytes: done, in all, rate, time left. `total_bytes` is `None` where the input's size is not known.
pub fn bytes(label: &'static str, total_bytes: Option<u64>) -> ProgressBar {
    OF_TOOL.store(true, Ordering::Relaxed);
    of_bytes(label, total_bytes)
}

fn of_bytes(label: &'static str, total_bytes: Option<u64>) -> ProgressBar {
    bar(label, total_bytes, "{bytes}/{total_bytes} {bytes_per_sec} {eta} left", "{bytes} {bytes_per_sec}")
}

/// A bar over cases, rows or files: done, in all, rate, time left.
pub fn items(label: &'static str, total: Option<u64>) -> ProgressBar {
    OF_TOOL.store(true, Ordering::Relaxed);
    bar(label, total, "{pos}/{len} {per_sec} {eta} left {msg}", "{pos} {per_sec} {msg}")
}

/// Files that are read one after the other, and how many of them are done. What is shown are their bytes.
#[derive(Debug, Clone, Copy)]
struct Reading {
    label: &'static str,
    /// 0 where they are not counted.
    files: usize,
    done: usize,
    /// Those that are known before they are opened; of a pipe nobody knows.
    bytes: u64,
}

static READING: Mutex<Option<Reading>> = Mutex::new(None);

/// Shows the bytes of these files while they are read, with how many files are done, until it is dropped.
pub fn files<'p>(label: &'static str, paths: impl IntoIterator<Item = &'p Path>) -> Files {
    let sizes = paths.into_iter().map(|path| std::fs::metadata(path).map_or(0, |metadata| metadata.len()));
    let (files, bytes) = sizes.fold((0, 0), |(files, bytes), size| (files + 1, bytes + size));
    if let Ok(mut reading) = READING.lock() {
        *reading = Some(Reading { label, files, done: 0, bytes });
    }
    Files { _private: () }
}

/// Shows the bytes of these tables while they are read, in any order, until it is dropped.
pub fn tables<'p>(paths: impl IntoIterator<Item = &'p Path>) -> Files {
    let reading = files("tables", paths);
    if let Ok(mut reading) = READING.lock()
        && let Some(reading) = reading.as_mut()
    {
        reading.files = 0;
    }
    reading
}

/// Files whose reading is shown.
#[derive(Debug)]
pub struct Files {
    _private: (),
}

impl Files {
    /// This many more are done.
    pub fn inc(&self, files: usize) {
        if let Ok(mut reading) = READING.lock()
            && let Some(reading) = reading.as_mut()
        {
            reading.done += files;
        }
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        if let Ok(mut reading) = READING.lock() {
            *reading = None;
        }
    }
}

thread_local! {
    /// Whether this thread has taken the bar off the screen. The bar is locked then, and must not be locked again.
    static SUSPENDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `write` while the bar is off the screen, so that lines on stderr do not run into it. `write` may itself print.
pub fn suspend<T>(write: impl FnOnce() -> T) -> T {
    let current = CURRENT.lock().ok().and_then(|bar| bar.clone()).filter(|_| !SUSPENDED.get());
    match current {
        Some(bar) => {
            SUSPENDED.set(true);
            let written = bar.suspend(write);
            SUSPENDED.set(false);
            written
        }
        None => write(),
    }
}

fn bar(label: &'static str, total: Option<u64>, with_total: &str, without: &str) -> ProgressBar {
    let bar = match total {
        Some(total) => ProgressBar::new(total),
        None => ProgressBar::no_length(),
    };
    let target = if is_hidden() { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    bar.set_draw_target(target);
    let numbers = if total.is_some() { format!("[{{bar:30}}] {with_total}") } else { format!("{{spinner}} {without}") };
    if let Ok(style) = ProgressStyle::with_template(&format!("{{prefix}} {numbers}")) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_prefix(label);
    if let Ok(mut current) = CURRENT.lock() {
        *current = Some(bar.clone());
    }
    bar
}

/// How long a tool reads before its progress is shown.
const SHOWN_AFTER: Duration = Duration::from_secs(1);

/// How often the numbers change.
const SHOWN_EVERY: Duration = Duration::from_millis(200);

/// Shows how much of the files has been read while a tool works, once that takes longer than a second; until it is dropped. Tools that show
/// something better themselves keep that. Nothing where there is no terminal, or no thread for it.
pub(crate) fn watch_reading() -> Option<Watch> {
    if is_hidden() || !std::io::stderr().is_terminal() {
        return None;
    }
    let (stop, stopped) = mpsc::channel::<()>();
    let show = move || {
        let mut wait = SHOWN_AFTER;
        let mut shown: Option<ProgressBar> = None;
        while stopped.recv_timeout(wait) == Err(mpsc::RecvTimeoutError::Timeout) {
            wait = SHOWN_EVERY;
            if OF_TOOL.load(Ordering::Relaxed) {
                break;
            }
            let Progress { read_bytes, opened_bytes } = perfdb_trace::source::progress();
            if read_bytes == 0 {
                continue;
            }
            let is_new = shown.is_none();
            let reading = READING.lock().ok().and_then(|reading| *reading);
            let total = reading.map_or(0, |reading| reading.bytes).max(opened_bytes);
            // How much comes from a pipe, nobody knows.
            let known = (opened_bytes >= read_bytes).then_some(total);
            let label = reading.map_or("reading", |reading| reading.label);
            let bar = shown.get_or_insert_with(|| of_bytes(label, known));
            if bar.length().is_some() {
                bar.set_length(total.max(read_bytes));
            }
            if let Some(Reading { label, files, done, .. }) = reading {
                bar.set_prefix(if files == 0 { label.to_owned() } else { format!("{label} {done}/{files}") });
            }
            bar.set_position(read_bytes);
            if is_new {
                // The rate is that of what comes from now on.
                bar.reset_eta();
            }
        }
        if let Some(bar) = shown {
            bar.finish_and_clear();
        }
    };
    let thread = std::thread::Builder::new().name("progress".to_owned()).spawn(show).ok()?;
    Some(Watch { stop: Some(stop), thread: Some(thread) })
}

/// Progress that is being shown.
#[derive(Debug)]
pub(crate) struct Watch {
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of it is printed already.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_prints_while_the_bar_is_suspended_may_suspend_it_again() {
        let bar = items("tests", Some(1));
        assert_eq!(suspend(|| suspend(|| 1) + suspend(|| 2)), 3);
        assert_eq!(suspend(|| 4), 4);
        bar.finish_and_clear();
    }
}
