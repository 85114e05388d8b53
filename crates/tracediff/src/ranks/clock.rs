//! Clocks of ranks, aligned by the ends of collectives that all ranks leave together. The root of a broadcast and a sender leave
//! before the others: such calls align clocks only where there are not others.

use perfdb_trace::time::Picoseconds;

use crate::classify::COMMUNICATION;
use crate::ranks::matching::Match;
use crate::ranks::rank::Rank;
use crate::ranks::statistics::median;

/// Collectives from which on a clock may also run faster than another.
const ENDS_FOR_DRIFT: usize = 16;

/// How the clock of a rank differs from that of the first rank.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Clock {
    /// By how much it is ahead at `origin`, in ps.
    pub(crate) ahead: f64,
    /// By how much it gains per time.
    pub(crate) drift: f64,
    origin: Picoseconds,
}

impl Clock {
    /// A time of this clock on that of the first rank.
    pub(crate) fn aligned(&self, time: Picoseconds) -> Picoseconds {
        let ahead = self.ahead + self.drift * (time - self.origin) as f64;
        time - ahead.round() as Picoseconds
    }
}

/// The clock of each rank; `None` for ranks that share no collective with the first rank, nor with one that does.
pub(crate) fn clocks(ranks: &[Rank], matches: &[Match]) -> Vec<Option<Clock>> {
    let kind = |found: &&Match| {
        let (rank, at) = *found.members.first()?;
        Some(ranks[rank].calls[at].kind.as_str())
    };
    let mut together: Vec<&Match> = matches.iter().filter(|found| kind(found).is_some_and(leave_together)).collect();
    if together.is_empty() {
        together = matches.iter().collect();
    }
    let mut clocks: Vec<Option<Clock>> = vec![None; ranks.len()];
    if let Some(first) = clocks.first_mut() {
        *first = Some(Clock::default());
    }
    let mut settled = vec![0];
    while let Some(known) = settled.pop() {
        for rank in 0..ranks.len() {
            let Some(of_known) = clocks[known].filter(|_| clocks[rank].is_none()) else { continue };
            let end = |of: usize, at: usize| ranks[of].calls[at].end;
            let mut ends: Vec<(Picoseconds, f64)> = together
                .iter()
                .filter_map(|found| {
                    let at = |wanted| found.members.iter().find(|(rank, _)| *rank == wanted).map(|(_, at)| *at);
                    let (there, here) = (end(known, at(known)?), end(rank, at(rank)?));
                    Some((here, (here - of_known.aligned(there)) as f64))
                })
                .collect();
            if ends.is_empty() {
                continue;
            }
            ends.sort_by_key(|(time, _)| *time);
            clocks[rank] = Some(fitted(&ends));
            settled.push(rank);
        }
    }
    clocks
}

/// Whether every rank needs all others to finish a collective of a kind.
pub(crate) fn leave_together(kind: &str) -> bool {
    kind != COMMUNICATION
}

/// A line through differences of ends: the median of the slopes between the first and the second half, and the median of
/// what is left. Single collectives whose ends are far apart do not move it.
fn fitted(ends: &[(Picoseconds, f64)]) -> Clock {
    let origin = ends[ends.len() / 2].0;
    let half = ends.len() / 2;
    let slopes = ends[..half].iter().zip(&ends[ends.len() - half..]).filter_map(|(early, late)| {
        let time = (late.0 - early.0) as f64;
        (time > 0.0).then(|| (late.1 - early.1) / time)
    });
    let drift = if ends.len() >= ENDS_FOR_DRIFT { median(slopes.collect()) } else { 0.0 };
    let ahead = median(ends.iter().map(|(time, ahead)| ahead - drift * (time - origin) as f64).collect());
    Clock { ahead, drift, origin }
}
