//! The ids that tie kernels to operators of the host.

use perfdb_trace::id::Id;
use perfdb_trace::id_index::IdIndex;
use perfdb_trace::time::Picoseconds;
use rustc_hash::FxHashMap;

use crate::code::Code;
use crate::finding::{Evidence, Findings};
use crate::gpu::Prepared;

/// Names that are listed.
const NAMES: usize = 2;

pub(super) fn check(trace: &Prepared, found: &mut Findings) {
    let operators = &trace.columns.operators;
    let mut by_id: Vec<(Id, u32)> = operators.iter().map(|operator| operator.id).zip(0..).collect();
    // Mostly they are in order.
    by_id.sort();
    let shared = by_id.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() > 1).count();
    if shared > 0 {
        found.note(Code::SharedExternalId, None, Evidence::new().with("ids", shared));
    }
    impossible(trace, &by_id, found);
}

/// Launches that lie in no operator with the id that their kernel has.
fn impossible(trace: &Prepared, by_id: &[(Id, u32)], found: &mut Findings) {
    let operators = &trace.columns.operators;
    let first = IdIndex::first(by_id.iter().zip(0..).map(|((id, _), place)| (*id, place)));
    let (mut wrong, mut judged, mut repeated, mut time) = (0_usize, 0_usize, 0_usize, 0);
    let mut names: FxHashMap<u32, Picoseconds> = FxHashMap::default();
    for (at, row) in trace.kernel_rows() {
        let Some(launch) = trace.launch(at) else { continue };
        let Some(first) = first.get(row.external) else { continue };
        let mut named = by_id[first as usize..].iter().take_while(|(id, _)| *id == row.external);
        judged += 1;
        repeated += usize::from(row.external == row.correlation);
        let inside = named.any(|(_, operator)| {
            let operator = operators.at(*operator as usize);
            operator.thread == launch.thread
                && launch.start >= operator.start - trace.tolerance
                && launch.start <= operator.end() + trace.tolerance
        });
        if !inside {
            wrong += 1;
            time += row.time();
            *names.entry(operators.at(by_id[first as usize].1 as usize).name).or_default() += row.time();
        }
    }
    let share = trace.share(time);
    if wrong > 0 && (share >= 0.01 || (wrong >= 10 && 50 * wrong >= judged)) {
        let mut names: Vec<(Picoseconds, &str)> =
            names.into_iter().map(|(name, time)| (time, trace.name(name))).collect();
        names.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
        let names: Vec<&str> = names.into_iter().take(NAMES).map(|(_, name)| name).collect();
        let mut evidence = Evidence::new().with("kernels", wrong).with("of_kernels", judged).with("operators", names);
        if repeated == judged {
            evidence = evidence.with("repeat_correlations", true);
        }
        found.warning(Code::ExternalIdImpossible, share, evidence);
    }
}
