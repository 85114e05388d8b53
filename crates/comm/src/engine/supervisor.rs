//! Watches over the ranks of this node: reports progress, notices ranks that die or hang, and leaves no process behind.

use super::command::{LaunchKind, Start};
use super::processes::{end_all, is_running};
use super::progress::{Event, Phase};
use super::rank_watch::RankWatch;
use crate::error::Error;
use crate::plan::Plan;
use perfdb_files::escape::one_line;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often the supervisor looks.
const TICK: Duration = Duration::from_millis(30);

/// After the first rank has failed, how long the others may take to report what they saw.
const GRACE: Duration = Duration::from_secs(3);

/// On top of the limit for one collective: how long no rank may get on.
const STALL_MARGIN: Duration = Duration::from_secs(10);

/// On top of the limit for one collective: how long a start may take.
const START_MARGIN: Duration = Duration::from_secs(60);

/// How long a launcher may take to end after all ranks have.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(60);

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Ending {
    /// Why it ended badly; `None` when every rank reached its end.
    pub(crate) failure: Option<String>,
    /// Whether any rank reached its file.
    pub(crate) any_opened: bool,
    /// Whether the engine found its port taken.
    pub(crate) port_in_use: bool,
    /// Whether the launcher's exit status was bad although every rank reached its end.
    pub(crate) bad_shutdown: bool,
    /// Whether the user ended it.
    pub(crate) interrupted: bool,
}

/// What the supervisor needs besides the start.
pub(crate) struct Supervision<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) events: &'a (dyn Fn(Event) + Sync),
    pub(crate) interrupt: &'a AtomicBool,
}

/// Starts the ranks and watches over them until all have ended or been ended.
pub(crate) fn supervise(start: &Start<'_>, kind: LaunchKind, with: &Supervision<'_>) -> Result<Ending, Error> {
    let children = start.spawn(kind)?;
    let (children, logs): (Vec<Child>, Vec<PathBuf>) = children.into_iter().unzip();
    let mut run = Run {
        children,
        statuses: Vec::new(),
        ranks: start.local_ranks().iter().map(|rank| RankWatch::new(*rank, &start.folder.path)).collect(),
        plan: with.plan,
        failed_since: None,
        done_since: None,
        last_growth: Instant::now(),
        started: Instant::now(),
    };
    run.statuses = vec![None; run.children.len()];
    let cause = run.watch(start, kind, with);
    tracing::info!(?cause, seconds = run.started.elapsed().as_secs_f64(), "the ranks of this node are to end");
    end_all(start.mark);
    for child in &mut run.children {
        let _ = child.wait();
    }
    run.follow();
    (with.events)(Event::ProgressEnd);
    Ok(run.ending(cause, &logs))
}

/// Why watching stopped.
#[derive(Debug, PartialEq, Eq)]
enum Cause {
    Ended,
    RankFailed,
    Stalled(Duration),
    NotStarted(Duration),
    Interrupted,
}

struct Run<'a> {
    children: Vec<Child>,
    statuses: Vec<Option<ExitStatus>>,
    ranks: Vec<RankWatch>,
    plan: &'a Plan,
    failed_since: Option<Instant>,
    done_since: Option<Instant>,
    last_growth: Instant,
    started: Instant,
}

impl Run<'_> {
    fn watch(&mut self, start: &Start<'_>, kind: LaunchKind, with: &Supervision<'_>) -> Cause {
        let stall_limit = start.options.timeout + STALL_MARGIN;
        let start_limit = start.options.timeout + START_MARGIN;
        // Ranks of other nodes, or of another launcher, may be started by hand, any time later.
        let waits_for_others = start.options.nodes.count > 1 || kind == LaunchKind::Inside;
        let mut shown = None;
        loop {
            let all_ended = self.reap();
            self.follow();
            shown = self.report_progress(shown, with.events);
            if with.interrupt.load(Ordering::Relaxed) {
                return Cause::Interrupted;
            }
            if all_ended {
                return Cause::Ended;
            }
            if self.failed_since.is_some_and(|since| since.elapsed() > GRACE) {
                return Cause::RankFailed;
            }
            if self.done_since.is_some_and(|since| since.elapsed() > SHUTDOWN_LIMIT) {
                return Cause::Ended;
            }
            let all_opened = self.ranks.iter().all(|rank| rank.opened);
            if !all_opened && !waits_for_others && self.started.elapsed() > start_limit {
                return Cause::NotStarted(start_limit);
            }
            if all_opened && self.done_since.is_none() && self.last_growth.elapsed() > stall_limit {
                return Cause::Stalled(stall_limit);
            }
            std::thread::sleep(TICK);
        }
    }

    /// Collects exit statuses; whether all children have ended.
    fn reap(&mut self) -> bool {
        for (child, status) in self.children.iter_mut().zip(&mut self.statuses) {
            if status.is_none() {
                *status = child.try_wait().ok().flatten();
            }
        }
        self.statuses.iter().all(Option::is_some)
    }

    fn follow(&mut self) {
        let mut grown = false;
        for rank in &mut self.ranks {
            grown |= rank.follow();
        }
        if grown {
            self.last_growth = Instant::now();
        }
        let has_failed = |rank: &RankWatch| rank.fatal.is_some() || rank.wrote_other_lines || died(rank);
        let ended_badly = self.statuses.iter().flatten().any(|status| !status.success());
        if self.ranks.iter().all(|rank| rank.done && !rank.wrote_other_lines) {
            self.done_since.get_or_insert_with(Instant::now);
        } else if ended_badly || self.ranks.iter().any(has_failed) {
            self.failed_since.get_or_insert_with(Instant::now);
        }
    }

    /// Reports where the first rank of this node is, if that has changed.
    fn report_progress(&self, shown: Option<u64>, events: &(dyn Fn(Event) + Sync)) -> Option<u64> {
        let Some((first, (config, phase))) = self.ranks.first().and_then(|rank| rank.at.map(|at| (rank, at))) else {
            return shown;
        };
        if shown == Some(first.begun) {
            return shown;
        }
        let distinct = self.plan.warmup_points as u64;
        let steps = 2 * distinct + self.plan.configs.len() as u64;
        let point = self.plan.configs.get(config).map(|point| point.label()).unwrap_or_default();
        events(Event::Progress { phase, step: first.begun, steps, point });
        Some(first.begun)
    }

    fn ending(&self, cause: Cause, logs: &[PathBuf]) -> Ending {
        let all_done = self.ranks.iter().all(|rank| rank.done && !rank.wrote_other_lines);
        let any_opened = self.ranks.iter().any(|rank| rank.opened);
        let bad_status = self.statuses.iter().flatten().find(|status| !status.success());
        let failure = match &cause {
            _ if all_done => None,
            Cause::Interrupted => Some("ended by a signal".to_owned()),
            Cause::NotStarted(limit) => {
                let late: Vec<String> =
                    self.ranks.iter().filter(|rank| !rank.opened).map(|rank| rank.rank.to_string()).collect();
                Some(format!("rank {} did not start within {} s", late.join(", "), limit.as_secs()))
            }
            Cause::Stalled(limit) => Some(self.blame().unwrap_or_else(|| {
                let at: Vec<String> =
                    self.ranks.iter().filter(|rank| !rank.done).map(|rank| self.rank_and_point(rank)).collect();
                format!("no rank got on for {} s: {}", limit.as_secs(), at.join("; "))
            })),
            Cause::Ended | Cause::RankFailed => {
                Some(self.blame().unwrap_or_else(|| launcher_failure(bad_status, logs)))
            }
        };
        Ending {
            failure,
            any_opened,
            port_in_use: logs.iter().any(|log| says_port_in_use(log)),
            bad_shutdown: all_done && bad_status.is_some(),
            interrupted: cause == Cause::Interrupted,
        }
    }

    /// The rank that is to blame: one that died without a word, one that was silent while its peers ran into the time limit,
    /// or the first that failed of itself.
    fn blame(&self) -> Option<String> {
        if let Some(rank) = self.ranks.iter().find(|rank| rank.wrote_other_lines) {
            return Some(format!("rank {} wrote a line that is not the worker's{}", rank.rank, self.during(rank)));
        }
        if let Some(dead) = self.ranks.iter().find(|rank| died(rank) && self.was_alone(rank)) {
            return Some(format!("rank {} died{}", dead.rank, self.during(dead)));
        }
        let failed = |rank: &&RankWatch| rank.fatal.is_some();
        let of_itself = self
            .ranks
            .iter()
            .filter(failed)
            .filter(|rank| rank.fatal.as_ref().is_some_and(|fatal| !fatal.reason.contains("another rank failed")))
            .min_by(|a, b| fatal_time(a).total_cmp(&fatal_time(b)))?;
        let reason = of_itself.fatal.as_ref().map(|fatal| one_line(&fatal.reason)).unwrap_or_default();
        if is_time_out(&reason)
            && let Some(silent) = self.ranks.iter().find(|rank| rank.opened && !rank.done && rank.fatal.is_none())
        {
            let peer = of_itself.rank;
            return Some(format!("rank {} hung{}; rank {peer}: {reason}", silent.rank, self.during(silent)));
        }
        Some(format!("rank {} failed{}: {reason}", of_itself.rank, self.during(of_itself)))
    }

    /// Whether the rank died before the launcher had a reason to end it.
    fn was_alone(&self, dead: &RankWatch) -> bool {
        let timed_out =
            self.ranks.iter().any(|rank| rank.fatal.as_ref().is_some_and(|fatal| is_time_out(&fatal.reason)));
        dead.fatal.is_none() && !timed_out
    }

    fn during(&self, rank: &RankWatch) -> String {
        match rank.at.and_then(|(config, phase)| Some((self.plan.configs.get(config)?, phase))) {
            Some((point, Phase::Verify)) => format!(" while verifying {}", point.label()),
            Some((point, Phase::WarmUp)) => format!(" while warming up {}", point.label()),
            Some((point, Phase::Measure)) => format!(" while measuring {}", point.label()),
            None => " before the first point".into(),
        }
    }

    fn rank_and_point(&self, rank: &RankWatch) -> String {
        format!("rank {}{}", rank.rank, self.during(rank))
    }
}

fn launcher_failure(status: Option<&ExitStatus>, logs: &[PathBuf]) -> String {
    let failure = match status {
        Some(status) => format!("the launcher ended with {status}"),
        None => "the ranks ended before the end of the plan".to_owned(),
    };
    last_words(logs).map_or(failure.clone(), |words| format!("{failure} ({words})"))
}

/// Whether the rank's process is gone although it had not reached its end and sent nothing.
fn died(rank: &RankWatch) -> bool {
    !rank.done && rank.fatal.is_none() && rank.pid.is_some_and(|pid| !is_running(pid))
}

fn fatal_time(rank: &RankWatch) -> f64 {
    rank.fatal.as_ref().map_or(f64::MAX, |fatal| fatal.time)
}

fn is_time_out(reason: &str) -> bool {
    let reason = reason.to_ascii_lowercase();
    ["timed out", "timeout", "got on for"].iter().any(|words| reason.contains(words))
}

fn says_port_in_use(log: &Path) -> bool {
    let text = end_of_log(log).unwrap_or_default().to_ascii_lowercase();
    text.contains("eaddrinuse") || text.contains("address already in use")
}

/// How much of a log is looked at.
const LOG_END_BYTES: u64 = 1 << 20;

/// The last part of a log; a rank may have written any amount.
fn end_of_log(log: &Path) -> Option<String> {
    let mut file = std::fs::File::open(log).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LOG_END_BYTES))).ok()?;
    let mut bytes = Vec::new();
    file.take(LOG_END_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The last line of a log that names an exception: why Python ended.
fn last_words(logs: &[PathBuf]) -> Option<String> {
    logs.iter().find_map(|log| {
        let text = end_of_log(log)?;
        let names_one = |line: &&str| {
            let name = line.split(':').next().unwrap_or_default();
            line.contains(": ") && (name.ends_with("Error") || name.ends_with("Exception")) && !name.contains(' ')
        };
        let line = text.lines().rev().find(names_one)?;
        Some(one_line(&line.chars().take(200).collect::<String>()))
    })
}
