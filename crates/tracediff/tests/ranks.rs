//! Made-up runs: what was planted is found.

#[allow(dead_code, unreachable_pub)]
#[path = "../examples/write_demo_ranks.rs"]
mod demo;

use std::path::PathBuf;

use demo::{DEMO, Run, traces};
use perfdb_tracediff::LoadOptions;
use perfdb_tracediff::ranks::{Error, Rank, Ranks, find_traces, report};

const QUIET: Run = Run { late: None, ..DEMO };

fn ranks_of(run: &Run) -> Vec<Rank> {
    let folder = tempfile::tempdir().expect("a folder");
    for (file, text) in traces(run) {
        std::fs::write(folder.path().join(file), text).expect("a file");
    }
    let paths = find_traces(&[folder.path().to_owned()]).expect("traces");
    let open = |(at, path): (usize, &PathBuf)| Rank::open(path, at as u32, &LoadOptions::default()).expect("a rank");
    paths.iter().enumerate().map(open).collect()
}

fn ranks(run: &Run) -> Ranks {
    report(ranks_of(run)).expect("ranks of one run")
}

fn near(found: f64, expected: f64, share: f64) {
    assert!((found - expected).abs() <= share * expected.abs(), "{found} instead of {expected}");
}

#[test]
fn a_planted_straggler_is_found_and_its_delay() {
    for (ranks_of_run, late, clock, drift_ppm) in [
        (4, (2, 1, 60_000), 1_700_000, 0),
        (8, (0, 0, 100_000), -90_000, 0),
        (2, (1, 2, 400_000), 0, 0),
        (8, (7, 1, 80_000), 3_000_000, 40),
    ] {
        let run = Run { ranks: ranks_of_run, steps: 12, late: Some(late), clock, drift_ppm, ..DEMO };
        let found = ranks(&run);
        let straggler = found.straggler.as_ref().expect("one is late");
        assert_eq!(straggler.rank, late.0);
        near(straggler.late_ms, late.2 as f64 / 1e6, 0.02);
        let place = &straggler.places[0];
        assert_eq!((place.kind.as_str(), place.number), ("All-Reduce", late.1 + 1));
        near(place.late_ms, late.2 as f64 / 1e6, 0.02);
        assert!(place.before.starts_with("nvjet"), "{}", place.before);
        let (what, longer) = straggler.longer_ms[0];
        assert_eq!(what, "compute");
        near(longer, late.2 as f64 / 1e6, 0.02);
        assert_eq!((found.per, found.steps, found.unmatched_calls), ("step", 12, 0));
        assert_eq!(found.matched_collectives, 36);
    }
}

#[test]
fn waiting_and_transfer_are_split_where_the_last_rank_comes() {
    let found = ranks(&Run { jitter: 0, ..DEMO });
    for rank in &found.ranks {
        // Three reductions of 30 us, and 60 us of waiting for rank 2.
        near(rank.transfer_ms, 0.09, 1e-9);
        assert_eq!(rank.waiting_ms, if rank.rank == 2 { 0.0 } else { 0.06 });
    }
    let reduction = &found.collectives[0];
    assert_eq!((reduction.count, reduction.group.as_str()), (9, "tp [0, 1, 2, 3]"));
    near(reduction.transfer_us, 30.0, 1e-9);
    near(reduction.waiting_us, 15.0, 1e-9);
    near(found.straggler.expect("rank 2").held_up_ms, 0.06, 1e-9);
}

#[test]
fn clocks_are_aligned() {
    let found = ranks(&Run { steps: 40, clock: 250_000, drift_ppm: 30, ..DEMO });
    for (number, rank) in (0..).zip(&found.ranks) {
        near(rank.clock_drift_ppm.expect("a clock"), 30.0 * f64::from(number), 0.02);
        let ahead = rank.clock_ahead_us.expect("a clock");
        assert!((ahead - 250.0 * f64::from(number)).abs() <= 3.0 * f64::from(number), "{ahead}");
    }
}

/// Rank 0 sends: it leaves 40 us before the others.
fn senders(run: &Run) -> Vec<Rank> {
    let mut ranks = ranks_of(run);
    for rank in &mut ranks {
        rank.calls.iter_mut().for_each(|call| call.kind = "Communication".into());
    }
    ranks[0].calls.iter_mut().for_each(|call| call.end = call.start.max(call.end - 40_000_000));
    ranks
}

#[test]
fn who_leaves_first_is_not_late_for_it() {
    let one_clock = Run { steps: 12, clock: 0, jitter: 0, drift_ppm: 0, ..QUIET };
    let found = report(senders(&one_clock)).expect("ranks of one run");
    assert_eq!(found.straggler, None);
    assert!(found.ranks.iter().all(|rank| rank.clock_ahead_us == Some(0.0)), "{:?}", found.ranks);
    // Clocks that are seconds apart can only be aligned by the ends.
    let apart = report(senders(&Run { clock: 3_000_000_000, ..one_clock })).expect("ranks of one run");
    for (number, rank) in (1..).zip(&apart.ranks[1..]) {
        near(rank.clock_ahead_us.expect("a clock"), 3e6 * f64::from(number), 1e-4);
    }
}

#[test]
fn who_comes_when_all_others_have_left_holds_nobody_up() {
    const LATER: i128 = 500_000_000;
    let one_clock = Run { steps: 12, clock: 0, jitter: 0, drift_ppm: 0, ..QUIET };
    let late = |others_wait: bool| {
        let mut ranks = senders(&one_clock);
        let calls = ranks[2].calls.len();
        for at in (0..calls).step_by(2) {
            let call = &mut ranks[2].calls[at];
            call.start += LATER;
            call.end += LATER;
            for other in [1, 3].into_iter().filter(|_| others_wait) {
                ranks[other].calls[at].end += LATER;
            }
        }
        report(ranks).expect("ranks of one run")
    };
    let found = late(false);
    assert_eq!(found.straggler, None);
    assert!(found.ranks.iter().all(|rank| rank.waiting_ms < 0.01), "{:?}", found.ranks);
    assert_eq!(late(true).straggler.map(|straggler| straggler.rank), Some(2));
}

#[test]
fn stages_that_only_send_to_each_other_are_of_one_run() {
    let run = Run { steps: 12, clock: 0, ..QUIET };
    let mut ranks = ranks_of(&run);
    let sent: Vec<_> = ranks.iter().map(|rank| rank.calls[0].clone()).collect();
    for (at, rank) in ranks.iter_mut().enumerate() {
        rank.calls.iter_mut().for_each(|call| call.group = format!("stage {}", at / 2));
        rank.calls[0] = sent[at].clone();
        rank.calls[0].kind = "Communication".into();
    }
    let found = report(ranks).expect("ranks of one run");
    assert!(found.ranks.iter().all(|rank| rank.clock_ahead_us.is_some()), "{:?}", found.ranks);
    assert_eq!(found.unmatched_calls, 0);
}

#[test]
fn a_run_without_a_straggler_has_none() {
    let found = ranks(&Run { ranks: 8, steps: 10, ..QUIET });
    assert_eq!(found.straggler, None);
    assert!(found.ranks.iter().all(|rank| rank.outlier.is_empty()), "{:?}", found.ranks);
}

#[test]
fn a_rank_unlike_the_others_is_told() {
    let found = ranks(&Run { ranks: 8, steps: 10, ..DEMO });
    let outliers: Vec<_> = found.ranks.iter().filter(|rank| !rank.outlier.is_empty()).collect();
    assert_eq!(outliers.len(), 1);
    assert_eq!((outliers[0].rank, outliers[0].outlier.as_slice()), (2, &["compute", "late"][..]));
}

#[test]
fn ranks_that_recorded_less_are_matched_where_they_belong() {
    let run = Run { steps: 12, clock: 20_000, ..DEMO };
    let whole = ranks_of(&run);
    for cut in [0..6, 30..36] {
        let mut less = whole.clone();
        less[3].calls.drain(cut);
        let found = report(less).expect("ranks of one run");
        let straggler = found.straggler.expect("one is late");
        assert_eq!(straggler.rank, 2);
        near(straggler.late_ms, 0.06, 0.02);
        assert_eq!(found.ranks[3].collectives, 30);
    }
}

#[test]
fn order_of_files_does_not_matter() {
    let whole = ranks_of(&DEMO);
    let backwards = whole.iter().rev().cloned().collect();
    assert_eq!(report(whole).expect("ranks"), report(backwards).expect("ranks"));
}

#[test]
fn traces_that_are_no_ranks_of_one_run_are_refused() {
    let whole = ranks_of(&DEMO);
    let twice = vec![whole[0].clone(), whole[0].clone()];
    assert!(matches!(report(twice), Err(Error::SameRank { rank: 0, .. })));
    let mut other = whole;
    other[1].calls.iter_mut().for_each(|call| call.group = "another".into());
    assert!(matches!(report(other[..2].to_vec()), Err(Error::NothingInCommon)));
}

#[test]
fn the_files_of_the_example_are_what_it_writes() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/ranks");
    for (file, text) in traces(&DEMO) {
        assert_eq!(std::fs::read_to_string(folder.join(&file)).expect("a file"), text, "{file}");
    }
}
