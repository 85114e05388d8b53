//! What makes the host late, where it is not that it launches kernels one by one.

use crate::elapsed::ColdStart;

/// What is known of the time in which a device waits for the host, per pass or step.
pub(crate) struct LateHost<'a> {
    /// All of it.
    pub(crate) late_ms: f64,
    /// Calls that set something up, and how long they take.
    pub(crate) cold_start: Option<(&'a ColdStart, f64)>,
    /// The part after the last work of a pass.
    pub(crate) between_ms: f64,
    /// What lies on both sides of that: `passes` or `steps`.
    pub(crate) between: &'static str,
    /// Whether graphs launch most kernels.
    pub(crate) replays_graphs: bool,
    /// The kernel after which the device waits longest, and how long.
    pub(crate) after: Option<(&'a str, f64)>,
}

impl LateHost<'_> {
    /// What explains at least half of it, and what to do about that.
    pub(crate) fn cause(&self) -> Option<String> {
        let half = self.late_ms / 2.0;
        if let Some((cold, _)) = self.cold_start.filter(|(_, stall_ms)| *stall_ms >= half) {
            let operator = if cold.operator.is_empty() { String::new() } else { format!(" of {}", cold.operator) };
            return Some(format!(
                "record after a warm-up: calls set up what comes first for {:.3} ms, most of all {}{operator} before {}",
                cold.stall_ms,
                cold.call,
                short(&cold.kernel)
            ));
        }
        if self.between_ms >= half && self.between_ms > 0.0 {
            return Some(format!(
                "{:.3} ms of it lie between {}: the worker waits for the engine or prepares the next batch",
                self.between_ms, self.between
            ));
        }
        let after = self.after.filter(|(_, after_ms)| *after_ms >= half);
        let after = after.map_or_else(String::new, |(name, after_ms)| {
            format!(", most of all after {} ({after_ms:.3} ms)", short(name))
        });
        self.replays_graphs
            .then(|| format!("graphs are replayed already: look at what the host does between their launches{after}"))
    }
}

/// The first letters of the name of a kernel, without what it returns and its arguments.
pub(crate) fn short(name: &str) -> String {
    let name = name.strip_prefix("void ").unwrap_or(name);
    let name = name.replace("(anonymous namespace)::", "");
    let end = name.find(['<', '(']).unwrap_or(name.len());
    let last = name[..end].rsplit("::").next().unwrap_or_default();
    match last.char_indices().nth(24) {
        Some((end, _)) => format!("{}…", &last[..end]),
        None => last.to_owned(),
    }
}

/// A name that leaves room on the line.
pub(crate) fn shortened(name: &str) -> String {
    if name.chars().count() <= 60 { name.to_owned() } else { name.chars().take(57).chain("...".chars()).collect() }
}
