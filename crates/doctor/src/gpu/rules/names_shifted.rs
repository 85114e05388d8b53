//! Names that slid against durations inside graph replays.
//!
//! The layers of a model run the same kernels, so their durations agree place by place. Where a layer fits much better
//! after turning its places, its names stand at the wrong durations.

use perfdb_trace::time::Picoseconds;
use rustc_hash::FxHashMap;
use serde_json::Map;

use crate::code::Code;
use crate::finding::{Evidence, Findings};
use crate::gpu::Prepared;
use crate::gpu::graph::{LONG, Layers, PIECES, Replays};
use crate::order::median;
use crate::report::Marks;
use perfdb_files::severity::Severity;

/// Shorter replays are not looked at.
const SHORT: usize = 8;
/// Pieces that are tried as the one that names the family.
const TRIED: usize = 64;
/// Places that names may slide.
const REACH: i32 = 12;

pub(super) fn check(trace: &Prepared, replays: &Replays, found: &mut Findings, marks: &mut Marks) {
    let mut pools: FxHashMap<Vec<u32>, Vec<&[u32]>> = FxHashMap::default();
    let mut layers = Layers::default();
    for replay in replays.iter() {
        let pieces: Vec<&[u32]> = if replay.len() >= LONG {
            layers.of(trace, replay).collect()
        } else if replay.len() >= SHORT {
            vec![replay]
        } else {
            continue;
        };
        for piece in pieces {
            let names = piece.iter().map(|at| trace.row(*at).name).collect();
            pools.entry(names).or_default().push(piece);
        }
    }
    let (mut slid, mut pieces, mut time) = (0_u64, 0, 0);
    let mut shifts: std::collections::BTreeMap<i32, u64> = std::collections::BTreeMap::new();
    let mut pools: Vec<_> = pools.into_values().filter(|pool| pool.len() >= PIECES).collect();
    pools.sort_unstable_by_key(|pool| pool.first().and_then(|piece| piece.first()).copied());
    for pool in pools {
        let durations: Vec<Vec<Picoseconds>> =
            pool.iter().map(|piece| piece.iter().map(|at| trace.row(*at).time()).collect()).collect();
        pieces += pool.len();
        let Some(reference) = reference(&durations) else { continue };
        for (piece, durations) in pool.iter().zip(&durations) {
            if let Some(shift) = shift(durations, &reference) {
                slid += 1;
                *shifts.entry(shift).or_default() += 1;
                time += durations.iter().sum::<Picoseconds>();
                marks.shifted.extend(piece.iter().map(|at| trace.kernel_number(*at)));
            }
        }
    }
    if slid > 0 {
        marks.shifted.sort_unstable();
        let share = trace.share(time);
        let severity = if share >= 0.05 { Severity::Error } else { Severity::Warning };
        let shifts: Map<_, _> = shifts.into_iter().map(|(shift, count)| (shift.to_string(), count.into())).collect();
        let evidence = Evidence::new().with("layers", slid).with("of_layers", pieces).with("shifts", shifts);
        found.add(Code::NamesShifted, severity, share, evidence);
    }
}

/// The median of each place over the pieces that agree with the one with which most agree.
fn reference(pool: &[Vec<Picoseconds>]) -> Option<Vec<Picoseconds>> {
    let agrees =
        |one: &[Picoseconds], other: &[Picoseconds]| 4 * distance(one, other) < one.iter().sum::<Picoseconds>();
    let step = (pool.len() / TRIED).max(1);
    let tried: Vec<&Vec<Picoseconds>> = pool.iter().step_by(step).take(TRIED).collect();
    let mut family: Option<(usize, &Vec<Picoseconds>)> = None;
    for piece in &tried {
        let agreeing = tried.iter().filter(|other| agrees(piece, other)).count();
        if family.is_none_or(|(most, _)| agreeing > most) {
            family = Some((agreeing, piece));
        }
    }
    let (_, named) = family?;
    let members: Vec<&Vec<Picoseconds>> = pool.iter().filter(|piece| agrees(named, piece)).collect();
    let places = 0..named.len();
    let reference: Option<Vec<Picoseconds>> =
        places.map(|place| median(&mut members.iter().map(|piece| piece[place]).collect::<Vec<_>>())).collect();
    let reference = reference?;
    let (longest, shortest) = (reference.iter().max()?, reference.iter().min()?);
    // Where all places are alike, turning them shows nothing.
    (2 * longest >= 3 * shortest).then_some(reference)
}

fn distance(one: &[Picoseconds], other: &[Picoseconds]) -> Picoseconds {
    one.iter().zip(other).map(|(one, other)| (one - other).abs()).sum()
}

/// By how many places the names of a piece slid.
fn shift(piece: &[Picoseconds], reference: &[Picoseconds]) -> Option<i32> {
    let places = reference.len();
    let as_it_is = distance(piece, reference);
    if 4 * as_it_is < reference.iter().sum() {
        return None;
    }
    let turned = |shift: i32| -> Picoseconds {
        let from = shift.rem_euclid(places as i32) as usize;
        let (behind, first) = reference.split_at(from);
        piece.iter().zip(first.iter().chain(behind)).map(|(one, other)| (one - other).abs()).sum()
    };
    let mut best: Option<(Picoseconds, i32)> = None;
    for steps in (1..=REACH).take_while(|steps| (*steps as usize) < places) {
        for shift in [-steps, steps] {
            let distance = turned(shift);
            if best.is_none_or(|(least, _)| distance < least) {
                best = Some((distance, shift));
            }
        }
    }
    best.filter(|(least, _)| 2 * least <= as_it_is).map(|(_, shift)| shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turned_pieces_are_told() {
        let reference = [40, 5, 60, 33, 4, 90];
        assert_eq!(shift(&reference, &reference), None);
        assert_eq!(shift(&[5, 60, 33, 4, 90, 40], &reference), Some(1));
        assert_eq!(shift(&[90, 40, 5, 60, 33, 4], &reference), Some(-1));
        // Slower all over is not slid.
        assert_eq!(shift(&[80, 10, 120, 66, 8, 180], &reference), None);
    }

    #[test]
    fn the_largest_family_gives_the_reference() {
        let piece = |scale: Picoseconds| vec![40 * scale, 5 * scale, 60 * scale];
        assert_eq!(reference(&[piece(1), piece(3), piece(3), piece(3)]), Some(piece(3)));
        assert_eq!(reference(&vec![vec![10, 11, 12]; 5]), None);
    }
}
