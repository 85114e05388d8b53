//! Kernels that no rule knows: the ones to give a class by hand.

use crate::classify::OTHER;
use crate::pairing::Pairing;
use crate::result::UnknownKernel;
use crate::time::{Picoseconds, milliseconds};
use crate::totals::Sum;

/// Kernels of the class Other by trace, then time descending, then name.
pub(crate) fn unknown_kernels(pairing: &Pairing<'_>) -> Vec<UnknownKernel> {
    let mut found = Vec::new();
    for side in 0..2 {
        let trace = pairing.traces[side];
        let whole = pairing.totals[side].sum.time;
        let paired = pairing.pairs.iter().filter(|pair| pair.operation == OTHER).map(|pair| &pair.sides[side]);
        let single = pairing.singles.iter().filter(|single| single.side == side && single.operation == OTHER);
        let all = paired.chain(single.map(|single| &single.totals)).flat_map(|totals| &totals.kernels);
        let mut kernels: Vec<(&str, Sum)> = all.map(|(name, sum)| (trace.name(*name), *sum)).collect();
        kernels.sort_by(|a, b| b.1.time.cmp(&a.1.time).then(a.0.cmp(b.0)));
        found.extend(kernels.into_iter().map(|(name, sum)| UnknownKernel {
            trace: side as u8 + 1,
            name: name.to_owned(),
            count: sum.count,
            total_ms: milliseconds(sum.time),
            share: share(sum.time, whole),
        }));
    }
    found
}

fn share(part: Picoseconds, whole: Picoseconds) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
