//! Where the device is idle.

use crate::sequence::kernel::Sequence;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How much larger the smallest gap between passes is than the largest gap inside them, at least.
const STEP: i128 = 5;

/// Walks over a sequence and gives the idle time in front of each kernel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Idle {
    /// The latest end so far.
    pub(crate) end_ps: i64,
}

impl Idle {
    /// Before a kernel that starts here.
    pub(crate) fn from(start_ps: i64) -> Idle {
        Idle { end_ps: start_ps }
    }

    /// The time between the latest end so far and the start of the next kernel, which is taken in.
    #[inline]
    pub(crate) fn before(&mut self, start_ps: i64, duration_ps: i64) -> i64 {
        let gap_ps = start_ps.saturating_sub(self.end_ps).max(0);
        self.end_ps = self.end_ps.max(start_ps.saturating_add(duration_ps));
        gap_ps
    }
}

/// The kernels in front of which the largest gaps lie, if these stand apart from all others: among the largest twentieth
/// (at least two) the widest step between a gap and the next smaller one, if it is five times or more.
pub(crate) fn cut_at_idle_gaps<S: Sequence + ?Sized>(kernels: &S) -> Vec<usize> {
    let wanted = (kernels.len() / 20).max(2);
    let mut largest: BinaryHeap<Reverse<(i64, usize)>> = BinaryHeap::with_capacity(wanted + 1);
    let mut idle = Idle::from(i64::MAX);
    for at in 0..kernels.len() {
        let kernel = kernels.kernel(at);
        if at == 0 {
            idle = Idle::from(kernel.start_ps);
        }
        let gap_ps = idle.before(kernel.start_ps, kernel.duration_ps);
        if gap_ps > 0 && (largest.len() < wanted || largest.peek().is_some_and(|Reverse(least)| *least < (gap_ps, at)))
        {
            largest.push(Reverse((gap_ps, at)));
            if largest.len() > wanted {
                largest.pop();
            }
        }
    }
    let sorted: Vec<(i64, usize)> = largest.into_sorted_vec().into_iter().map(|Reverse(gap)| gap).collect();
    let mut widest: Option<(usize, i128, i128)> = None;
    for (at, pair) in sorted.windows(2).enumerate() {
        let (large, small) = (i128::from(pair[0].0), i128::from(pair[1].0));
        if widest.is_none_or(|(_, top, bottom)| large * bottom > top * small) {
            widest = Some((at, large, small));
        }
    }
    let mut cuts: Vec<usize> = match widest {
        Some((last, large, small)) if large >= STEP * small => sorted[..=last].iter().map(|&(_, at)| at).collect(),
        _ => Vec::new(),
    };
    cuts.sort_unstable();
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sequence::kernel::Kernel;

    fn with_gaps(gaps_ps: &[i64]) -> Vec<Kernel> {
        let mut start_ps = 0;
        let kernel = |gap_ps: &i64| {
            start_ps += gap_ps + 10;
            Kernel { symbol: 0, start_ps, duration_ps: 10 }
        };
        gaps_ps.iter().map(kernel).collect()
    }

    #[test]
    fn gaps_that_stand_apart() {
        let mut gaps_ps = vec![1; 80];
        gaps_ps[20] = 500;
        gaps_ps[50] = 300;
        assert_eq!(cut_at_idle_gaps(with_gaps(&gaps_ps).as_slice()), [20, 50]);
        gaps_ps[60] = 90;
        assert_eq!(cut_at_idle_gaps(with_gaps(&gaps_ps).as_slice()), [20, 50, 60], "90 to 1 is the widest step");
        assert!(cut_at_idle_gaps(with_gaps(&[1, 4, 1, 2]).as_slice()).is_empty(), "4 is not five times 2");
        assert!(cut_at_idle_gaps(with_gaps(&[1, 1]).as_slice()).is_empty());
    }

    #[test]
    fn overlapping_kernels_leave_no_gap() {
        let kernel = |start_ps, duration_ps| Kernel { symbol: 0, start_ps, duration_ps };
        let kernels = [kernel(0, 100), kernel(10, 5), kernel(90, 5), kernel(101, 1), kernel(110, 1)];
        assert_eq!(cut_at_idle_gaps(kernels.as_slice()), [4], "gaps of 1 and 8");
    }
}
