//! One operator of a run: all rows of its tables.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::Instant;

use perfdb_files::lock::{LockOptions, Notice};

use super::lanes::{Route, Work};
use super::progress::{OperatorOutcome, Progress, Recorder, unsupported};
use super::{Event, Session};
use crate::backend::Backend;
use crate::case::Case;
use crate::error::Error;
use crate::executor::supervisor::CaseFailure;
use crate::executor::{Greeting, Sample};
use crate::journal::{CaseKey, Ended, MeasuredRows, RunFacts};
use crate::memory;
use crate::op_summary::{Entry, RowCells};
use crate::operator::{Operator, SkipReason};
use crate::plan::{PlannedRow, PlannedTable, RowPlan, plan_file};
use crate::refusal::{CaseError, ErrorKind};
use crate::removal::{Removal, finish_earlier};
use crate::results::{RowOutcome, RowResult};
use crate::row_selection::RowSelection;
use crate::settings::RunSettings;

/// Rows to replay that stand together: a table, or the cases of a file.
pub(super) struct Group {
    rows: Vec<PlannedRow>,
    table: Option<PlannedTable>,
}

impl Group {
    /// What a row is known by: its bytes in the table, or the case that it is.
    fn record(&self, row_index: usize) -> Vec<u8> {
        match (&self.table, self.rows[row_index].case()) {
            (Some(planned), _) => planned.table.source_record(row_index).to_vec(),
            (None, Some(case)) => serde_json::to_vec(case).unwrap_or_default(),
            (None, None) => self.rows[row_index].row.to_string().into_bytes(),
        }
    }
}

impl Session<'_> {
    /// Replays all rows of these table files. A file that cannot be used fails the operator.
    pub(crate) fn replay_tables(
        &mut self,
        operator: &'static Operator,
        files: &[PathBuf],
    ) -> Result<OperatorOutcome, Error> {
        let settings = self.settings;
        let notice = |notice: &Notice| (self.notify)(Event::Warning(&notice.to_string()));
        let lock = LockOptions { tool: settings.tool, timeout: settings.lock_timeout, notice: &notice };
        if settings.writes_files() {
            for file in files {
                finish_earlier(file, &lock)?;
            }
        }
        let plan = settings.plan_settings(operator);
        let mut groups = Vec::with_capacity(files.len());
        let planning = tracing::info_span!("plan rows", op = operator.name, tables = files.len()).entered();
        for file in files {
            match plan_file(file, operator, &plan) {
                Ok(mut table) => {
                    groups.push(Group { rows: std::mem::take(&mut table.rows), table: Some(table) });
                }
                Err(error) => return Ok(OperatorOutcome::Failed(error.to_string())),
            }
        }
        drop(planning);
        self.replay(operator, groups)
    }

    /// Replays cases that no table holds.
    pub(crate) fn replay_cases(
        &mut self,
        operator: &'static Operator,
        rows: Vec<PlannedRow>,
    ) -> Result<OperatorOutcome, Error> {
        self.replay(operator, vec![Group { rows, table: None }])
    }

    fn replay(&mut self, operator: &'static Operator, mut groups: Vec<Group>) -> Result<OperatorOutcome, Error> {
        let route = match self.route(operator, &mut groups) {
            Ok(route) => route,
            Err(error) => return Ok(OperatorOutcome::Failed(error.to_string())),
        };
        let since = Instant::now();
        let mut progress = Progress::new(groups.iter().map(|group| group.rows.len()));
        self.find_own(operator, &groups, &mut progress);
        self.judge_plans(&groups, &mut progress);
        let waiting = match self.measured.take() {
            Some(mut measured) => {
                let taken = self.take_over_measured(operator, &mut measured, &groups, &mut progress);
                self.measured = Some(measured);
                taken?;
                Vec::new()
            }
            None => self.take_over_finished(&groups, &mut progress),
        };
        tracing::info!("{}: {} row(s) to run, {} known from the journal", operator.name, waiting.len(), progress.ran);
        self.run_cases(operator, &groups, &waiting, route, &mut progress)?;
        tracing::info!("{}: rows took {:.3} s", operator.name, since.elapsed().as_secs_f64());
        if let Some(signal) = self.interrupt.signal() {
            self.collect(operator, groups, progress);
            return Err(Error::Interrupted(signal));
        }
        let is_part = matches!(self.settings.rows, RowSelection::Shard(_));
        let outcome = progress.outcome(operator, self.settings.backend, is_part);
        if is_part {
            self.note_not_sent(operator, &groups, &progress)?;
        }
        if !matches!(outcome, OperatorOutcome::RunEnds(_)) && progress.environment.is_none() {
            self.mark_invalid_rows(&mut groups, &progress);
        }
        self.collect(operator, groups, progress);
        Ok(outcome)
    }

    /// Rows on several ranks run under a launcher on `npu`, and nowhere else.
    fn route(&self, operator: &Operator, groups: &mut [Group]) -> Result<Route, Error> {
        let settings = self.settings;
        let on_ranks = |case: &Case| case.call.ranks.is_some_and(|ranks| ranks > 1);
        if settings.backend != Backend::Npu {
            for row in groups.iter_mut().flat_map(|group| &mut group.rows) {
                if row.case().is_some_and(|case| on_ranks(case)) {
                    row.plan = RowPlan::Skip(SkipReason::NeedsDistributed);
                }
            }
            return Ok(Route::Devices);
        }
        settings.check_ranks(operator)?;
        Ok(if settings.starts_ranks(operator) { Route::Ranks } else { Route::Devices })
    }

    /// Marks the rows of other shards.
    fn find_own(&self, operator: &Operator, groups: &[Group], progress: &mut Progress) {
        let rows = &self.settings.rows;
        if !matches!(rows, RowSelection::Shard(_)) {
            return;
        }
        for (group, elsewhere) in groups.iter().zip(&mut progress.elsewhere) {
            for (row_index, elsewhere) in elsewhere.iter_mut().enumerate() {
                *elsewhere = !rows.is_own(operator.name, &group.rows[row_index].csv, &group.record(row_index));
            }
        }
    }

    /// Rows that are decided without an executor.
    fn judge_plans(&self, groups: &[Group], progress: &mut Progress) {
        for ((group, outcomes), elsewhere) in groups.iter().zip(&mut progress.outcomes).zip(&progress.elsewhere) {
            let own = group.rows.iter().zip(outcomes).zip(elsewhere).filter(|(_, elsewhere)| !**elsewhere);
            for ((row, outcome), _) in own {
                match &row.plan {
                    RowPlan::Case(_) => {}
                    RowPlan::Invalid(refusal) => {
                        (self.notify)(Event::Invalid(row, refusal));
                        *outcome = Some(RowOutcome::Invalid(refusal.kind.name()));
                    }
                    RowPlan::Skip(reason) => {
                        (self.notify)(Event::Skipped(row, *reason));
                        *outcome = Some(RowOutcome::Skip(*reason));
                    }
                }
            }
        }
    }

    /// Takes over what the journal holds; returns the places of the rows that are to be sent.
    fn take_over_finished(&mut self, groups: &[Group], progress: &mut Progress) -> Vec<WaitingRow> {
        let mut waiting = Vec::new();
        for (group_index, group) in groups.iter().enumerate() {
            for (row_index, row) in group.rows.iter().enumerate() {
                let Some(case) = row.case().filter(|_| !progress.elsewhere[group_index][row_index]) else { continue };
                let key = self.journal.is_some().then(|| self.key(group, row_index, case));
                let finished = match (&mut self.journal, &key) {
                    (Some(journal), Some(key)) => journal.take(key),
                    _ => None,
                };
                let Some(finished) = finished else {
                    waiting.push(WaitingRow { group: group_index, row: row_index, key });
                    continue;
                };
                (self.notify)(Event::Ran(row, &finished.run));
                progress.ran += 1;
                progress.entries[group_index][row_index] =
                    Some(entry(self.settings, group, row_index, case, (0, finished.samples)));
                progress.outcomes[group_index][row_index] = Some(RowOutcome::Ok(finished.run));
            }
        }
        waiting
    }

    /// Takes over what other processes have measured: every row once, or the operator fails.
    fn take_over_measured(
        &self,
        operator: &Operator,
        measured: &mut MeasuredRows,
        groups: &[Group],
        progress: &mut Progress,
    ) -> Result<(), Error> {
        let mut missing: Vec<&PlannedRow> = Vec::new();
        for (group_index, group) in groups.iter().enumerate() {
            for (row_index, row) in group.rows.iter().enumerate() {
                let Some(case) = row.case() else { continue };
                let outcome = match measured.take(&self.key(group, row_index, case)) {
                    Some(Ended::Ok(finished)) => {
                        (self.notify)(Event::Ran(row, &finished.run));
                        progress.ran += 1;
                        progress.ran_now[group_index] += 1;
                        progress.entries[group_index][row_index] =
                            Some(entry(self.settings, group, row_index, case, (0, finished.samples)));
                        RowOutcome::Ok(finished.run)
                    }
                    Some(Ended::Failed(error)) => {
                        self.take_over_failure(operator, row, &error, progress);
                        RowOutcome::Failed(error)
                    }
                    None => {
                        missing.push(row);
                        continue;
                    }
                };
                progress.outcomes[group_index][row_index] = Some(outcome);
            }
        }
        progress.sent += progress.ran;
        let reason = match (missing.first(), measured.left_of(operator.name)) {
            (Some(first), _) => {
                let count = missing.len();
                format!("{count} row(s) were measured by no shard, the first is row {} of {}", first.row, first.csv)
            }
            (None, 0) => return Ok(()),
            (None, left) => format!("{left} measurement(s) of the shards belong to no row"),
        };
        Err(Error::NotEachOnce { op: operator.name.to_owned(), reason })
    }

    /// A failure is one of the row, or of the operator as a whole.
    fn take_over_failure(&self, operator: &Operator, row: &PlannedRow, error: &CaseError, progress: &mut Progress) {
        if error.kind == ErrorKind::Unsupported && error.detail == unsupported(operator, self.settings.backend) {
            progress.unsupported = true;
            return;
        }
        (self.notify)(Event::Failed(row, error));
        progress.sent += 1;
        *progress.kinds.entry(error.kind.name()).or_default() += 1;
        if error.kind == ErrorKind::Environment {
            progress.environment.get_or_insert_with(|| error.detail.clone());
        }
    }

    /// Notes the rows of a shard that were not sent because the operator had ended: for the whole set they have failed.
    fn note_not_sent(&mut self, operator: &Operator, groups: &[Group], progress: &Progress) -> Result<(), Error> {
        let Some(error) = progress.not_sent(operator, self.settings.backend) else { return Ok(()) };
        let Some(mut journal) = self.journal.take() else { return Ok(()) };
        for (group_index, group) in groups.iter().enumerate() {
            for (row_index, row) in group.rows.iter().enumerate() {
                let is_known = progress.outcomes[group_index][row_index].is_some();
                let Some(case) = row.case().filter(|_| !is_known && !progress.elsewhere[group_index][row_index]) else {
                    continue;
                };
                let outcome = RowOutcome::Failed(error.clone());
                let result = RowResult { op: case.op.clone(), csv: case.csv.clone(), row: case.row, outcome };
                journal.note(&self.key(group, row_index, case), &result, &[])?;
            }
        }
        self.journal = Some(journal);
        Ok(())
    }

    fn key(&self, group: &Group, row_index: usize, case: &Case) -> CaseKey {
        CaseKey::new(case, &group.record(row_index), self.settings.backend, self.settings.seed)
    }

    fn run_cases(
        &mut self,
        operator: &'static Operator,
        groups: &[Group],
        waiting: &[WaitingRow],
        route: Route,
        progress: &mut Progress,
    ) -> Result<(), Error> {
        if waiting.is_empty() {
            return Ok(());
        }
        let (settings, interrupt, notify, next_id) = (self.settings, self.interrupt, self.notify, &self.next_id);
        let cases: Vec<Arc<Case>> =
            waiting.iter().filter_map(|place| groups[place.group].rows[place.row].case().cloned()).collect();
        let greetings = Mutex::new(Vec::new());
        let greeted = |greeting: &Greeting| {
            if let Ok(mut greetings) = greetings.lock() {
                greetings.push(greeting.clone());
            }
        };
        let guards_memory = settings.backend.is_host();
        let work = Work {
            cases: &cases,
            dump: settings.dump_outputs,
            next_id: &|| next_id.fetch_add(1, Ordering::Relaxed),
            greeted: &greeted,
            refuses: &|case| guards_memory.then(|| too_large(case)).flatten().map(CaseFailure::Case),
            is_stopped: &|| interrupt.signal().is_some(),
        };
        let (mut journal, mut has_begun) = (self.journal.take(), self.has_begun);
        let lanes = &mut self.lanes;
        let session = &Recorder { settings, notify };
        let result = lanes.run(route, &work, &mut |index, answer| {
            let (place, case) = (&waiting[index], &cases[index]);
            let group = &groups[place.group];
            let row = &group.rows[place.row];
            if let (Some(journal), false, Some(greeting)) = (&mut journal, has_begun, first_of(&greetings)) {
                journal.begin(&facts(settings, &greeting))?;
                has_begun = true;
            }
            if interrupt.signal().is_some() && answer.is_err() {
                return Ok(());
            }
            let ended = session.judge(row, case, answer, progress);
            if let Some((outcome, measured)) = ended {
                let (samples, device_id) =
                    measured.map_or((Vec::new(), 0), |(measured, device)| (measured.samples, device));
                let result = RowResult { op: case.op.clone(), csv: case.csv.clone(), row: case.row, outcome };
                if let (Some(journal), Some(key)) = (&mut journal, &place.key) {
                    journal.note(key, &result, &samples)?;
                }
                if matches!(result.outcome, RowOutcome::Ok(_)) {
                    progress.ran_now[place.group] += 1;
                    progress.entries[place.group][place.row] =
                        Some(entry(settings, group, place.row, case, (device_id, samples)));
                }
                progress.outcomes[place.group][place.row] = Some(result.outcome);
            }
            notify(Event::Progress { op: operator.name, done: index + 1, total: waiting.len() });
            Ok(())
        });
        (self.journal, self.has_begun) = (journal, has_begun);
        result
    }

    /// Rows whose own fault it is leave their tables when the run ends, where at least one row ran.
    fn mark_invalid_rows(&mut self, groups: &mut [Group], progress: &Progress) {
        if !self.settings.drops_rows() || !self.settings.writes_files() {
            return;
        }
        for (index, group) in groups.iter_mut().enumerate() {
            let leaves = |outcome: &Option<RowOutcome>| match outcome {
                Some(RowOutcome::Invalid(_)) => true,
                Some(RowOutcome::Failed(error)) => error.kind.is_the_rows_fault(),
                _ => false,
            };
            let outcomes = &progress.outcomes[index];
            let positions: Vec<usize> = (0..outcomes.len()).filter(|&row| leaves(&outcomes[row])).collect();
            if positions.is_empty() || progress.ran_now[index] == 0 {
                continue;
            }
            let rows = positions.iter().map(|&row| group.rows[row].clone()).collect();
            if let Some(planned) = group.table.take() {
                self.removals.push(Removal { table: planned.table, positions, rows });
            }
        }
    }

    /// Joins the operator's results to those of the run.
    fn collect(&mut self, operator: &Operator, groups: Vec<Group>, progress: Progress) {
        let not_sent = progress.not_sent(operator, self.settings.backend);
        let outcomes = progress.outcomes.into_iter().zip(progress.elsewhere);
        for ((group, (outcomes, elsewhere)), entries) in groups.into_iter().zip(outcomes).zip(progress.entries) {
            for ((row, outcome), elsewhere) in group.rows.into_iter().zip(outcomes).zip(elsewhere) {
                if elsewhere {
                    continue;
                }
                let Some(outcome) = outcome.or_else(|| not_sent.clone().map(RowOutcome::Failed)) else { continue };
                match outcome {
                    RowOutcome::Ok(_) => self.counts.ran += 1,
                    RowOutcome::Invalid(_) => self.counts.invalid += 1,
                    RowOutcome::Skip(_) => self.counts.skipped += 1,
                    RowOutcome::Failed(_) => self.counts.failed += 1,
                }
                self.results.push(RowResult { op: row.op.into(), csv: row.csv, row: row.row, outcome });
            }
            self.entries.extend(entries.into_iter().flatten());
        }
        self.dumps.extend(progress.dumps);
    }
}

/// A row that is to be sent.
struct WaitingRow {
    group: usize,
    row: usize,
    key: Option<CaseKey>,
}

fn entry(
    settings: &RunSettings,
    group: &Group,
    row_index: usize,
    case: &Case,
    (device_id, samples): (u32, Vec<Sample>),
) -> Entry {
    let text = match &group.table {
        Some(planned) => RowCells::of_row(planned.table.row(row_index)),
        None => RowCells::of_case(case),
    };
    let task_type = settings.backend.task_type();
    Entry { op: case.op.to_string(), row: case.row, device_id, task_type, text, samples }
}

/// Cases below this size are not weighed: asking the system costs more than they do.
const WEIGHED_FROM_BYTES: u64 = 32 << 20;

fn too_large(case: &Case) -> Option<CaseError> {
    if memory::needed_bytes(case) < WEIGHED_FROM_BYTES {
        return None;
    }
    memory::check(case, perfdb_files::memory::available_bytes()).err()
}

fn first_of(greetings: &Mutex<Vec<Greeting>>) -> Option<Greeting> {
    greetings.lock().ok()?.first().cloned()
}

fn facts(settings: &RunSettings, greeting: &Greeting) -> RunFacts {
    RunFacts {
        backend: settings.backend.name().to_owned(),
        device: greeting.device.clone(),
        versions: greeting.versions.clone(),
        repeats: settings.general_repeat(),
        warmup: settings.warmup,
        seed: settings.seed,
        fresh_inputs: settings.has_fresh_inputs(),
    }
}
