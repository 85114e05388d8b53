//! The rules for kernel tables.

use std::collections::BTreeMap;

use perfdb_trace::time::{MICROSECOND, Picoseconds};
use rustc_hash::{FxHashMap, FxHashSet};

use super::columns::{Row, Table};
use super::{passes, streams};
use crate::certificate::Certificate;
use crate::code::Code;
use crate::finding::{Evidence, Findings};
use crate::order::{median, percentile};
use perfdb_files::severity::Severity;

/// Kernels that a percentile is taken of, at least.
const KERNELS: usize = 20;
/// No twentieth kernel takes that long, none of them that short.
const LONG: Picoseconds = 700 * MICROSECOND;
const SHORT: Picoseconds = 50_000;
/// Calls of one type from which a usual time is taken.
const CALLS: usize = 4;

pub(super) fn check_all(table: &Table, header: &[String], found: &mut Findings) -> Certificate {
    columns(table, header, found);
    cells(table, found);
    if table.row_count == 0 {
        found.error(Code::NoKernels, 1.0, Evidence::new().with("events", 0));
        return Certificate::default();
    }
    if table.rows.is_empty() {
        return Certificate::default();
    }
    aicpu(table, found);
    devices(table, found);
    durations(table, found);
    collectives_that_wait(table, found);
    let rounded = rounded(table, found);
    unit(table, found, rounded);
    if !rounded {
        copies(table, found);
        doubled_collectives(table, found);
        passes::check(table, found);
        streams::check(table, found);
    }
    certificate(table)
}

fn columns(table: &Table, header: &[String], found: &mut Findings) {
    let (needed, useful) = super::columns::missing(&table.places);
    if !needed.is_empty() {
        found.error(Code::MissingColumns, None, Evidence::new().with("columns", needed));
    } else if !useful.is_empty() {
        found.warning(Code::MissingColumns, None, Evidence::new().with("columns", useful));
    }
    let mut seen = FxHashSet::default();
    let mut twice: Vec<&str> = header.iter().map(String::as_str).filter(|name| !seen.insert(*name)).collect();
    twice.dedup();
    if !twice.is_empty() {
        found.warning(Code::DuplicateColumns, None, Evidence::new().with("columns", twice));
    }
}

fn cells(table: &Table, found: &mut Findings) {
    if table.ragged > 0 {
        let cut = table.ragged == 1 && table.last_ragged + 1 == table.row_count && table.last_short;
        let severity = if cut { Severity::Error } else { Severity::Warning };
        let evidence = Evidence::new().with("rows", table.ragged).with("first_row", table.first_ragged);
        found.add(Code::RaggedRows, severity, table.ragged as f64 / table.row_count as f64, evidence);
    }
    if table.bad_numbers > 0 {
        let share = table.bad_numbers as f64 / table.row_count as f64;
        found.error(Code::BadNumbers, share, Evidence::new().with("rows", table.bad_numbers));
    }
    if table.negative > 0 {
        let share = table.negative as f64 / table.row_count as f64;
        let evidence = Evidence::new().with("rows", table.negative).time("worst_us", table.worst);
        found.error(Code::NegativeDuration, share, evidence);
    }
}

/// Whether starts were rounded: written with an exponent, or many rows of a stream share one.
fn rounded(table: &Table, found: &mut Findings) -> bool {
    let mut starts: FxHashMap<(u32, Picoseconds), usize> = FxHashMap::default();
    let rows = || table.rows.iter().filter(|row| !row.copy);
    for row in rows() {
        *starts.entry((row.stream, row.start)).or_default() += 1;
    }
    let shared = rows().filter(|row| starts.get(&(row.stream, row.start)).is_some_and(|count| *count > 1)).count();
    let all = rows().count();
    let rounded = table.exponents > 0 || 10 * shared >= all;
    if rounded {
        let rows = shared.max(table.exponents as usize);
        found.error(Code::TimesRounded, None, Evidence::new().with("rows", rows));
    }
    rounded
}

fn copies(table: &Table, found: &mut Findings) {
    let copies = || table.rows.iter().filter(|row| row.copy);
    if copies().next().is_some() {
        let time = copies().map(|row| row.duration).sum();
        found.error(Code::DuplicateEvents, table.share(time), Evidence::new().with("rows", copies().count()));
    }
}

/// Collectives stand in these tables twice: as a whole, and as what ran on a stream.
fn doubled_collectives(table: &Table, found: &mut Findings) {
    let mut groups: FxHashMap<(u32, Picoseconds, u32), Vec<Picoseconds>> = FxHashMap::default();
    for row in table.rows.iter().filter(|row| row.collective) {
        let key = (row.device, row.start.div_euclid(MICROSECOND), row.kind);
        groups.entry(key).or_default().push(row.duration);
    }
    let single = groups.values().filter(|group| group.len() == 1).count();
    let several = groups.len() - single;
    if several > 0 {
        let time = groups.values().map(|group| group[1..].iter().sum::<Picoseconds>()).sum();
        let severity = if single == 0 { Severity::Note } else { Severity::Warning };
        let evidence = Evidence::new().with("groups", several).with("single", single);
        found.add(Code::DoubleCollective, severity, table.share(time), evidence);
    }
}

fn aicpu(table: &Table, found: &mut Findings) {
    let rows = table.rows.iter().filter(|row| table.text(row.kind).ends_with("AicpuKernel"));
    let (count, time) = rows.fold((0_u64, 0), |(count, time), row| (count + 1, time + row.duration));
    if count > 0 {
        found.note(Code::AicpuRows, table.share(time), Evidence::new().with("rows", count));
    }
}

fn devices(table: &Table, found: &mut Findings) {
    if table.places.device.is_none() {
        return;
    }
    let mut rows: FxHashMap<u32, usize> = FxHashMap::default();
    for row in &table.rows {
        *rows.entry(row.device).or_default() += 1;
    }
    if rows.len() > 1 {
        let most = rows.values().copied().max().unwrap_or_default();
        let mut devices: Vec<&str> = rows.keys().map(|device| table.text(*device)).collect();
        devices.sort_unstable();
        let share = (table.rows.len() - most) as f64 / table.rows.len() as f64;
        found.warning(Code::MixedDevices, share, Evidence::new().with("devices", devices));
    }
}

fn durations(table: &Table, found: &mut Findings) {
    let zeros: Vec<&Row> = table.rows.iter().filter(|row| row.duration == 0).collect();
    if zeros.is_empty() {
        return;
    }
    let mut by_kind: FxHashMap<u32, Vec<Picoseconds>> = FxHashMap::default();
    for row in &table.rows {
        by_kind.entry(row.kind).or_default().push(row.duration);
    }
    let mut kinds: Vec<u32> = zeros.iter().map(|row| row.kind).collect();
    let missing: Picoseconds =
        kinds.iter().filter_map(|kind| by_kind.get_mut(kind).and_then(|times| median(times))).sum();
    kinds.sort_unstable();
    kinds.dedup();
    let names: Vec<&str> = kinds.iter().take(5).map(|kind| table.text(*kind)).collect();
    let severity = if 100 * zeros.len() < table.rows.len() { Severity::Note } else { Severity::Warning };
    let evidence =
        Evidence::new().with("kernels", zeros.len()).with("names", names).with("of_kernels", table.rows.len());
    found.add(Code::ZeroDuration, severity, table.share(missing), evidence);
}

fn collectives_that_wait(table: &Table, found: &mut Findings) {
    let mut calls: BTreeMap<(u32, u32), Vec<Picoseconds>> = BTreeMap::new();
    for row in table.rows.iter().filter(|row| row.collective && !row.copy) {
        calls.entry((row.device, row.kind)).or_default().push(row.duration);
    }
    let (mut wait, mut waiting) = (0, 0_u64);
    for durations in calls.values_mut() {
        let Some(usual) = percentile(durations, 25) else { continue };
        if durations.len() >= CALLS && usual >= MICROSECOND {
            for duration in durations.iter().filter(|duration| **duration > 10 * usual) {
                wait += duration - 3 * usual;
                waiting += 1;
            }
        }
    }
    let share = table.share(wait);
    if waiting > 0 && share >= 0.05 {
        let evidence = Evidence::new().time("wait_us", wait).with("collectives", waiting).with("sizes_known", false);
        found.warning(Code::WaitingCollectives, share, evidence);
    }
}

fn unit(table: &Table, found: &mut Findings, rounded: bool) {
    let mut durations: Vec<Picoseconds> =
        table.rows.iter().map(|row| row.duration).filter(|duration| *duration > 0).collect();
    let kernel = if durations.len() < KERNELS { None } else { percentile(&mut durations, 5) };
    let kinds = table.rows.iter().map(|row| row.kind).collect::<FxHashSet<_>>().len();
    let by_stream = if rounded { None } else { streams::sum_over_span(table) };
    let unit = match kernel {
        Some(kernel) if kernel <= SHORT => "milliseconds",
        Some(kernel) if kernel >= LONG && kinds >= 5 => "nanoseconds",
        _ if by_stream.is_some() => "durations in nanoseconds",
        _ => return,
    };
    let mut evidence = Evidence::new().with("looks_like", unit);
    if let Some(kernel) = kernel {
        evidence = evidence.time("p5_kernel_us", kernel);
    }
    if let Some(factor) = by_stream {
        evidence = evidence.with("sum_over_span", factor);
    }
    found.error(Code::WrongUnit, 1.0, evidence);
}

fn certificate(table: &Table) -> Certificate {
    let mut certificate = Certificate::default();
    let mut order: Vec<(Picoseconds, Picoseconds)> = table.rows.iter().map(|row| (row.start, row.end())).collect();
    order.sort_unstable();
    let first = order.first().map_or(0, |row| row.0);
    let (mut busy, mut until) = (0, first);
    for (start, end) in order {
        busy += (end - start.max(until)).max(0);
        until = until.max(end);
    }
    let mut by_kind: FxHashMap<u32, Picoseconds> = FxHashMap::default();
    let mut streams: FxHashSet<u32> = FxHashSet::default();
    for row in &table.rows {
        *by_kind.entry(row.kind).or_default() += row.duration;
        streams.insert(row.stream);
    }
    certificate.count("rows", table.row_count as usize);
    certificate.count("used", table.rows.len());
    certificate.time("time_us", table.time);
    certificate.time("span_us", until - first);
    certificate.time("busy_us", busy);
    certificate.count("streams", streams.len());
    certificate.holds("by_type", by_kind.into_values().sum::<Picoseconds>() == table.time);
    certificate
}
