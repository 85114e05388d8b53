//! Progress of long work, on stderr, only on a terminal and without `--quiet`.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::Mutex;

static CURRENT: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// A bar over bytes: done, in all, rate, time left. `total_bytes` is `None` where the input's size is not known.
pub fn bytes(label: &'static str, total_bytes: Option<u64>) -> ProgressBar {
    bar(label, total_bytes, "{bytes}/{total_bytes} {bytes_per_sec} {eta} left", "{bytes} {bytes_per_sec}")
}

/// A bar over cases, rows or files: done, in all, rate, time left.
pub fn items(label: &'static str, total: Option<u64>) -> ProgressBar {
    bar(label, total, "{pos}/{len} {per_sec} {eta} left {msg}", "{pos} {per_sec} {msg}")
}

/// Runs `write` while the bar is off the screen, so that lines on stderr do not run into it.
pub fn suspend<T>(write: impl FnOnce() -> T) -> T {
    let current = CURRENT.lock().ok().and_then(|bar| bar.clone());
    match current {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

fn bar(label: &'static str, total: Option<u64>, with_total: &str, without: &str) -> ProgressBar {
    let bar = match total {
        Some(total) => ProgressBar::new(total),
        None => ProgressBar::no_length(),
    };
    let target = if crate::quiet() { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
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
