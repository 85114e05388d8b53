//! Defects put into traces that are in order are found; traces that are in order, changed in ways that do no harm, raise no
//! alarm.
//!
//! A few trials by default; `PERFDB_DOCTOR_TRIALS=300` is the whole of it.

mod false_alarms;
mod file_defects;
mod gpu_defects;
mod gpu_trace;
mod random;
mod table;
mod tc_trace;

use gpu_trace::Trace;
use perfdb_doctor::{Options, Packing, Report, check, repair};
use random::Random;

/// Defects of each kind.
fn trials() -> u64 {
    std::env::var("PERFDB_DOCTOR_TRIALS").ok().and_then(|count| count.parse().ok()).unwrap_or(6)
}

fn report_of(bytes: &[u8]) -> Report {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), bytes).expect("written");
    let report = check(file.path(), &Options::default()).expect("readable");
    assert!(report.certificate.broken().is_empty(), "{:?}", report.certificate);
    report
}

fn codes(report: &Report) -> Vec<&'static str> {
    report.findings.iter().map(|finding| finding.code.name()).collect()
}

/// What was looked for and not found.
#[derive(Default)]
struct Recall {
    missed: Vec<String>,
}

impl Recall {
    /// Tries a defect as often as asked for; at least `least` of a hundred must be found.
    fn expect(&mut self, name: &str, expected: &[&str], least: u64, mut trial: impl FnMut(u64) -> Option<Report>) {
        let (mut tried, mut missed) = (0, 0);
        let mut last = String::new();
        for seed in 0..trials() {
            let Some(report) = trial(seed) else { continue };
            tried += 1;
            let found = codes(&report);
            if !expected.iter().any(|code| found.contains(code)) {
                missed += 1;
                last = format!("seed {seed}: {found:?}");
            }
        }
        if 100 * missed > (100 - least) * tried {
            self.missed.push(format!("{name}: {missed} of {tried} missed, {last}"));
        }
    }

    fn finish(self) {
        assert!(self.missed.is_empty(), "{}", self.missed.join("\n"));
    }
}

#[test]
fn traces_in_order_raise_no_alarm() {
    for seed in 0..trials() {
        let random = &mut Random::new(seed);
        for graph in [false, true] {
            let report = report_of(Trace::new(graph, random).text().as_bytes());
            assert_eq!(codes(&report), [""; 0], "seed {seed}, graph {graph}: {report:?}");
        }
        let report = report_of(tc_trace::text(&tc_trace::clean(random)).as_bytes());
        assert_eq!(codes(&report), [""; 0], "seed {seed}: {report:?}");
        let report = report_of(table::text(&table::clean(random)).as_bytes());
        assert_eq!(codes(&report), [""; 0], "seed {seed}: {report:?}");
    }
}

#[test]
fn changes_that_do_no_harm_raise_no_alarm() {
    for seed in 0..trials() {
        let random = &mut Random::new(1_000_000 + seed);
        let mut trace = Trace::new(seed % 2 == 0, random);
        match seed % 3 {
            0 => random.shuffle(&mut trace.events),
            1 => {
                let by = random.below(1 << 50) as i64 - (1 << 49);
                trace.events.iter_mut().for_each(|event| event.start += by);
            }
            _ => {
                for event in trace.events.iter_mut().filter(|event| event.on_device()) {
                    event.duration =
                        event.duration.map(|duration| duration - duration * random.below(51) as i64 / 1000);
                }
            }
        }
        let report = report_of(trace.text().as_bytes());
        assert_eq!(codes(&report), [""; 0], "seed {seed}: {report:?}");
    }
}

#[test]
fn defects_of_gpu_traces_are_found() {
    let mut recall = Recall::default();
    for graph in [false, true] {
        for defect in gpu_defects::DEFECTS {
            let name = format!("{}, {}", defect.name, if graph { "graph" } else { "eager" });
            recall.expect(&name, defect.codes, 99, |seed| {
                let random = &mut Random::new(seed);
                let mut trace = Trace::new(graph, random);
                (defect.inject)(&mut trace, random).then(|| report_of(trace.text().as_bytes()))
            });
        }
    }
    recall.finish();
}

#[test]
fn defects_of_simulator_traces_are_found() {
    let mut recall = Recall::default();
    for (name, expected, inject) in tc_trace::DEFECTS {
        recall.expect(name, expected, if *name == "lost in a layer" { 98 } else { 99 }, |seed| {
            let random = &mut Random::new(seed);
            let mut operators = tc_trace::clean(random);
            inject(&mut operators, random);
            Some(report_of(tc_trace::text(&operators).as_bytes()))
        });
    }
    recall.finish();
}

#[test]
fn defects_of_tables_are_found() {
    let mut recall = Recall::default();
    for (name, expected, inject) in table::DEFECTS {
        recall.expect(name, expected, 99, |seed| {
            let random = &mut Random::new(seed);
            let mut table = table::clean(random);
            inject(&mut table, random);
            Some(report_of(table::text(&table).as_bytes()))
        });
    }
    recall.finish();
}

#[test]
fn defects_of_files_are_found_and_mended() {
    let mut recall = Recall::default();
    for (name, expected, inject) in file_defects::DEFECTS {
        recall.expect(name, expected, 99, |seed| {
            let random = &mut Random::new(seed);
            let text = Trace::new(seed % 2 == 0, random).text();
            let bytes = inject(&text, random);
            let report = report_of(&bytes);
            mended(name, &bytes, &report);
            Some(report)
        });
    }
    recall.finish();
}

/// A repaired copy has none of what can be repaired, and is its own repaired copy.
fn mended(name: &str, bytes: &[u8], report: &Report) {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), bytes).expect("written");
    let mut copy = Vec::new();
    if repair(file.path(), report, &mut copy, Packing::Plain).is_err() {
        assert!(report.findings.iter().any(|finding| finding.repair().is_none()), "{name}");
        return;
    }
    let after = report_of(&copy);
    let left: Vec<_> = after.findings.iter().filter(|finding| finding.repair().is_some()).collect();
    assert!(left.is_empty(), "{name}: {left:?}");
    std::fs::write(file.path(), &copy).expect("written");
    let mut again = Vec::new();
    repair(file.path(), &after, &mut again, Packing::Plain).expect("a copy");
    assert!(copy == again, "{name}");
}

#[test]
fn order_of_events_and_threads_change_nothing_but_positions() {
    for seed in 0..trials().min(40) {
        let random = &mut Random::new(2_000_000 + seed);
        let mut trace = Trace::new(seed % 2 == 0, random);
        let defect = random.pick(gpu_defects::DEFECTS);
        (defect.inject)(&mut trace, random);
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), trace.text()).expect("written");
        let of = |threads| check(file.path(), &Options { threads, ..Options::default() }).expect("readable").to_json();
        assert_eq!(of(1), of(3), "{}", defect.name);
        let before = report_of(trace.text().as_bytes());
        random.shuffle(&mut trace.events);
        let after = report_of(trace.text().as_bytes());
        assert_eq!(codes(&before), codes(&after), "{}", defect.name);
        assert_eq!(before.certificate, after.certificate, "{}", defect.name);
    }
}
