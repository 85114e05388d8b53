//! What a collection of communication times prints: a heading, two lines per session, a summary.

use perfdb_comm::Error;
use perfdb_comm::bandwidth::to_table;
use perfdb_comm::bench::Outcome;
use perfdb_comm::collection::Collected;
use perfdb_comm::sessions::{Mode, Session, SessionPlan};
use perfdb_files::escape::{one_line, shown};
use perfdb_files::time::utc_text;
use std::time::{Duration, SystemTime};

/// What is going to be run.
pub fn heading(plan: &SessionPlan, now: SystemTime) -> String {
    let mode = match plan.mode {
        Mode::SingleNode => "single node",
        Mode::MultiNode => "multi-node",
    };
    let list = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
    let mut devices: Vec<u64> = Vec::new();
    for devices_of_session in plan.sessions.iter().flat_map(|session| &session.num_devices) {
        if !devices.contains(devices_of_session) {
            devices.push(*devices_of_session);
        }
    }
    format!(
        "Communication bench, {mode}\n  output : {}\n  devices: {}\n  grid   : {}\n  start  : {}\n",
        shown(&plan.output_dir),
        list(&devices),
        list(plan.sessions.first().map_or(&[], |session| &session.grid_shape)),
        utc_text(now),
    )
}

/// The line at the start of a session.
pub fn begin(number: usize, total: usize, session: &Session, now: SystemTime) -> String {
    format!(
        "[{number}/{total}] {}  port {}  {} ranks per node  {}  {} sizes  {}\n",
        session.description,
        session.master_port,
        session.nproc_per_node,
        session.ops.iter().map(|op| op.name()).collect::<Vec<_>>().join(" "),
        session.bytes_grid.len(),
        utc_text(now),
    )
}

/// The line at the end of a session.
pub fn end(outcome: &Result<Outcome, Error>, elapsed: Duration) -> String {
    let result = match outcome {
        Ok(outcome) if outcome.is_complete() => {
            let shutdown = if outcome.bad_shutdown { ", the launcher died at shutdown" } else { "" };
            format!("ok: {} rows{shutdown}", outcome.rows.len())
        }
        Ok(outcome) => {
            format!("incomplete: {} rows, {} points without one", outcome.rows.len(), outcome.missing.len())
        }
        Err(error) => format!("failed: {}", one_line(&error.to_string())),
    };
    format!("      {result} ({} s)\n", elapsed.as_secs())
}

/// The tables, and the bandwidths of all sessions.
pub fn summary(collected: &Collected, now: SystemTime) -> String {
    let mut text = format!("End: {}\n", utc_text(now));
    for (path, rows) in &collected.tables {
        text.push_str(&format!("  {}: {rows} rows\n", path.display()));
    }
    if !collected.bandwidths.is_empty() {
        text.push_str(&to_table(&collected.bandwidths));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfdb_comm::sessions::{Environment, SessionOptions};

    #[test]
    fn heading_and_sessions() {
        let options = SessionOptions { num_devices: Some(vec![4, 2, 4]), ..SessionOptions::default() };
        let plan = SessionPlan::new(&Environment::default(), &options).unwrap();
        let now = SystemTime::UNIX_EPOCH;
        let expected =
            "Communication bench, single node\n  output : ./hccl_bench_data\n  devices: 4 2\n  grid   : 48 8 2\n";
        assert!(heading(&plan, now).starts_with(expected), "{}", heading(&plan, now));
        let line = begin(1, 9, &plan.sessions[0], now);
        assert!(line.starts_with("[1/9] ") && line.contains("  port 29700  4 ranks per node  "), "{line}");
        let failed = Err(Error::RunFailed("no\nrow".into()));
        assert_eq!(end(&failed, Duration::from_millis(2900)), "      failed: no\\nrow (2 s)\n");
        assert!(summary(&Collected::default(), now).starts_with("End: 1970-01-01"));
    }
}
