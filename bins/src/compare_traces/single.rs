//! One pair of traces.

use std::io::Write as _;
use std::path::Path;

use perfdb_files::replace::{Parents, Staged, commit, refuse_inputs};
use perfdb_report::pages::traces_page;
use perfdb_report::tracediff::{EVENTS_HEADER, json, push_event};
use perfdb_trace::timeline::{Target, Timeline};
use perfdb_tracediff::{
    Analysis, Baseline, Caution, Error, Format, LoadOptions, PairSettings, Regression, Trace, analyse, events, windows,
};

use super::parquet::{self, ParquetTable};
use super::plan::{Common, Plan};
use super::remedy::{line_of_caution, line_of_error};
use crate::comparison::{notes_of, usable_cores};
use crate::gate::{Gate, percent};
use crate::provenance::provenance;
use crate::{Failure, Status, error_line, print, print_note, print_styled, progress, warn};

/// What is written beside the standard output, and what may fail.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Outputs<'a> {
    /// The result; stdout otherwise.
    pub(super) result: Option<&'a Path>,
    /// The result as JSON, besides.
    pub(super) json: Option<&'a Path>,
    /// The result as a table, besides.
    pub(super) csv: Option<&'a Path>,
    /// The HTML page.
    pub(super) page: Option<&'a Path>,
    /// The table of kernels.
    pub(super) events: Option<&'a Path>,
    /// Tables with typed columns.
    pub(super) parquet: &'a [ParquetTable],
    /// Both traces as one.
    pub(super) trace: Option<&'a Path>,
    /// JSON of an earlier run, and the limit in percent.
    pub(super) gate: Option<(&'a Path, f64)>,
}

/// Compares two traces, and writes the result to a file or to stdout.
///
/// # Errors
/// Contradictory options (exit 2); traces that cannot be read or compared, an output that cannot be written (exit 1).
pub(super) fn compare_one(
    traces: [&Path; 2],
    captures: [Option<&Path>; 2],
    settings: &PairSettings,
    common: &Common,
    outputs: &Outputs<'_>,
) -> Result<Status, Failure> {
    let written =
        [outputs.result, outputs.json, outputs.csv, outputs.events, outputs.trace, outputs.page].into_iter().flatten();
    let written = written.chain(outputs.parquet.iter().map(ParquetTable::path));
    let registry = common.registry_file.as_deref();
    let baseline = outputs.gate.map(|(path, _)| path);
    let devices = common.devices_file.as_deref();
    let inputs =
        traces.into_iter().chain(captures.into_iter().flatten()).chain(registry).chain(devices).chain(baseline);
    refuse_inputs(written, inputs)?;
    let baseline = outputs.gate.map(|(path, limit)| Ok::<_, Error>((Baseline::read(path)?, limit))).transpose()?;
    let plan = common.plan(settings).map_err(Failure::usage)?;
    let tables = outputs.parquet.iter().map(ParquetTable::file).collect::<Result<Vec<_>, _>>()?;
    tables.iter().try_for_each(|(_, file)| file.check())?;
    let threads = usable_cores().div_ceil(2);
    let options = common.load_options(!settings.no_stacks.unwrap_or(false), threads);
    let loaded = load(traces, captures, &options)?;
    let mut notes: Vec<String> = loaded.iter().flat_map(notes_of).collect();
    notes.dedup();
    notes.iter().for_each(|note| print_note(note));
    let analysis = compare(&plan, [&loaded[0], &loaded[1]], traces)?;
    let events = outputs.events.map(|path| write_events(path, &plan, [&loaded[0], &loaded[1]])).transpose()?;
    let page = outputs.page.map(|path| stage_page(path, &analysis, traces)).transpose()?.flatten();
    let trace = outputs.trace.map(|path| write_trace(path, &plan, [&loaded[0], &loaded[1]])).transpose()?;
    let phase = plan.analysis.compare.phase;
    let stage = |(kind, file): &_| parquet::stage(*kind, file, &analysis.document, [&loaded[0], &loaded[1]], phase);
    let tables = tables.iter().map(stage).collect::<Result<Vec<_>, Failure>>()?;
    let document = &analysis.document;
    let whole = outputs.json.map(|path| Staged::with(path, json(document, None).as_bytes(), Parents::MustExist));
    let table = outputs.csv.map(|path| Staged::with(path, plan.csv(document).as_bytes(), Parents::MustExist));
    let also =
        events.into_iter().chain(trace).chain(page).chain(tables).chain(whole.transpose()?).chain(table.transpose()?);
    let result = plan.render(&analysis);
    match outputs.result {
        Some(output) => {
            let result = Staged::with(output, result.as_bytes(), Parents::MustExist)?;
            commit(also.chain([result]).collect())?;
        }
        None => {
            commit(also.collect())?;
            // The text report has escaped what is not its own; anything else goes out as it is, or escaped to a terminal.
            if plan.format == Format::Text { print_styled(&result)? } else { print(&result)? }
        }
    }
    let mut gate = Gate::default();
    if let Some((baseline, limit)) = baseline {
        let worse = baseline.check(&analysis.document, limit);
        worse.iter().for_each(|regression| gate.exceeded(regression_line(regression), percent(limit)));
    }
    Ok(gate.status())
}

/// `NAME (KERNEL): trace 2 against trace 1 was +1.0 % and is +9.0 % now, 0.412 ms more`
fn regression_line(regression: &Regression) -> String {
    let kernel = regression.kernel.as_ref().map_or_else(String::new, |kernel| format!(" ({kernel})"));
    let shown =
        |percent: f64| if percent.is_finite() { format!("{percent:+.1} %") } else { "in trace 2 only".to_owned() };
    let before = regression.before_pct.map_or_else(|| "not there".to_owned(), shown);
    format!(
        "{}{kernel}: trace 2 against trace 1 was {before} and is {} now, {:.3} ms more",
        regression.name,
        shown(regression.after_pct),
        regression.worse_ms
    )
}

/// Stages the page; there is none for documents without operations.
fn stage_page(path: &Path, analysis: &Analysis, traces: [&Path; 2]) -> Result<Option<Staged>, Failure> {
    let read = provenance("compare-traces", [("trace 1", traces[0]), ("trace 2", traces[1])]);
    let Some(page) = traces_page(&analysis.document, read) else { return Ok(None) };
    Ok(Some(Staged::with(path, page.to_html()?.as_bytes(), Parents::MustExist)?))
}

/// Stages the table of kernels.
fn write_events(path: &Path, plan: &Plan, traces: [&Trace; 2]) -> Result<Staged, Failure> {
    let mut staged = Staged::create(path, Parents::MustExist)?;
    let mut text = EVENTS_HEADER.to_owned();
    let mut flush = |text: &mut String| {
        let written = staged.write_all(text.as_bytes());
        text.clear();
        written.map_err(|source| Failure::from(Error::Io { path: path.to_owned(), source }))
    };
    events(traces[0], traces[1], plan.analysis.compare.phase, |row| {
        push_event(&mut text, &row);
        if text.len() >= 1 << 20 { flush(&mut text) } else { Ok(()) }
    })?;
    flush(&mut text)?;
    Ok(staged)
}

/// Stages both traces as one, with the names of the result.
fn write_trace(path: &Path, plan: &Plan, traces: [&Trace; 2]) -> Result<Staged, Failure> {
    let failure = |source| Failure::from(Error::Io { path: path.to_owned(), source });
    let target = Target::of_name(path, Staged::create(path, Parents::MustExist)?);
    let mut timeline = Timeline::new(target, &["trace 1", "trace 2"], "trace 1 - trace 2 (us)").map_err(failure)?;
    windows(traces[0], traces[1], plan.analysis.compare.phase, |window| timeline.add(window).map_err(failure))?;
    timeline.finish().and_then(Target::finish).map_err(failure)
}

/// Loads both traces at the same time.
fn load(traces: [&Path; 2], captures: [Option<&Path>; 2], options: &LoadOptions) -> Result<[Trace; 2], Failure> {
    let reading = progress::files("traces", traces);
    let open = |side: usize| {
        let trace = Trace::open_with_capture(traces[side], captures[side], options);
        reading.inc(1);
        trace
    };
    let loaded = perfdb_files::parallel::join(|| open(0), || open(1));
    drop(reading);
    match loaded {
        (Ok(first), Ok(second)) => Ok([first, second]),
        (first, second) => {
            let mut lines: Vec<String> =
                [first, second].into_iter().filter_map(Result::err).map(|error| line_of_error(&error)).collect();
            lines.dedup();
            Err(Failure::lines(lines))
        }
    }
}

/// Compares two loaded traces; findings go to stderr. `names` are the traces as the user wrote them.
fn compare(plan: &Plan, traces: [&Trace; 2], names: [&Path; 2]) -> Result<Analysis, Failure> {
    let analysis =
        analyse(traces[0], traces[1], &plan.analysis).map_err(|error| phase_failure(&error, plan, traces))?;
    for line in warnings(&analysis.findings, names) {
        warn(&line);
    }
    Ok(analysis)
}

/// Every trace that lacks the phase gets its line.
fn phase_failure(error: &Error, plan: &Plan, traces: [&Trace; 2]) -> Failure {
    let missing = traces.iter().filter_map(|trace| trace.require_phase(plan.analysis.compare.phase).err());
    let mut lines: Vec<String> = missing.map(|error| error_line(&error)).collect();
    if lines.is_empty() {
        lines.push(error_line(error));
    }
    lines.dedup();
    Failure::lines(lines)
}

/// `PATH: finding` lines of a pair; those of one file that is both traces come once.
pub(super) fn warnings(findings: &[Vec<Caution>; 2], names: [&Path; 2]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    if is_same_file(names) {
        lines.push(format!("{}: both traces are the same file", names[1].display()));
    }
    for (name, findings) in names.into_iter().zip(findings) {
        lines.extend(findings.iter().map(|finding| format!("{}: {}", name.display(), line_of_caution(finding))));
    }
    let mut seen = std::collections::BTreeSet::new();
    lines.retain(|line| seen.insert(line.clone()));
    lines
}

fn is_same_file([first, second]: [&Path; 2]) -> bool {
    let place = |path: &Path| std::fs::canonicalize(path).ok();
    first == second || (place(first).is_some() && place(first) == place(second))
}
