//! Clocks of ranks, aligned by the ends of collectives that all ranks leave together. The root of a broadcast and a sender leave
//! before the others: where ranks share nothing else, clocks that let such calls run at one time stay as they are.

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
    let kind = |found: &Match| {
        let (rank, at) = *found.members.first()?;
        Some(ranks[rank].calls[at].kind.as_str())
    };
    let (together, apart): (Vec<&Match>, Vec<&Match>) =
        matches.iter().partition(|found| kind(found).is_some_and(leave_together));
    let mut clocks: Vec<Option<Clock>> = vec![None; ranks.len()];
    if let Some(first) = clocks.first_mut() {
        *first = Some(Clock::default());
    }
    let mut settled = vec![0];
    loop {
        while let Some(known) = settled.pop() {
            for rank in 0..ranks.len() {
                let Some(of_known) = clocks[known].filter(|_| clocks[rank].is_none()) else { continue };
                let shared = Shared::new(ranks, &together, (known, of_known), rank);
                if let Some(clock) = shared.by_ends() {
                    clocks[rank] = Some(clock);
                    settled.push(rank);
                }
            }
        }
        let places = || (0..ranks.len()).flat_map(|known| (0..ranks.len()).map(move |rank| (known, rank)));
        let next = places().find_map(|(known, rank)| {
            let of_known = clocks[known].filter(|_| clocks[rank].is_none())?;
            let shared = Shared::new(ranks, &apart, (known, of_known), rank);
            shared.as_they_are(of_known).or_else(|| shared.by_ends()).map(|clock| (rank, clock))
        });
        let Some((rank, clock)) = next else { return clocks };
        clocks[rank] = Some(clock);
        settled.push(rank);
    }
}

/// The calls that two ranks share, by time.
struct Shared {
    /// The end of each on the clock of the second rank, and by how much later it is than that of the first rank.
    ends: Vec<(Picoseconds, f64)>,
    /// How many run at one time on both ranks, if both have one clock.
    at_one_time: usize,
}

impl Shared {
    fn new(ranks: &[Rank], matches: &[&Match], (known, clock): (usize, Clock), rank: usize) -> Shared {
        let mut shared = Shared { ends: Vec::new(), at_one_time: 0 };
        for found in matches {
            let call = |wanted: usize| {
                let (rank, at) = found.members.iter().find(|(rank, _)| *rank == wanted)?;
                Some(&ranks[*rank].calls[*at])
            };
            let (Some(there), Some(here)) = (call(known), call(rank)) else { continue };
            shared.ends.push((here.end, (here.end - clock.aligned(there.end)) as f64));
            let at_one_time = clock.aligned(there.start) <= clock.aligned(here.end)
                && clock.aligned(here.start) <= clock.aligned(there.end);
            shared.at_one_time += usize::from(at_one_time);
        }
        shared.ends.sort_by_key(|(time, _)| *time);
        shared
    }

    fn by_ends(&self) -> Option<Clock> {
        (!self.ends.is_empty()).then(|| fitted(&self.ends))
    }

    /// The clock of the first rank where nothing says that the second one has another: a sender and its receiver, a root and
    /// the others run at one time. Ranks of one machine have one clock, and who leaves first proves nothing.
    fn as_they_are(&self, known: Clock) -> Option<Clock> {
        (self.at_one_time > 0 && 2 * self.at_one_time >= self.ends.len()).then_some(known)
    }
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
