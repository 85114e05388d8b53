//! The clock beside the sum: elapsed time, and how much of it the device was busy.

use super::call::Call;
use bitcode::{Decode, Encode};
use serde::Serialize;

/// One side on the clock. `elapsed − kernels = idle − overlap`, exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Encode, Decode)]
pub struct Timeline {
    /// From the first start to the last end.
    pub elapsed_ps: i128,
    /// Time in which some kernel ran.
    pub busy_ps: i128,
    /// Time in which none did.
    pub idle_ps: i128,
    /// Time of all kernels beyond the busy time.
    pub overlap_ps: i128,
    /// Time of all kernels.
    pub kernels_ps: i128,
}

/// Both sides on the clock; a side without calls has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Encode, Decode)]
pub struct Timelines {
    /// The predicted side.
    pub predicted: Option<Timeline>,
    /// The measured side, all passes of it.
    pub measured: Option<Timeline>,
}

/// Of calls in the order of their starts.
pub(super) fn timeline(calls: &[Call]) -> Option<Timeline> {
    let begin = i128::from(calls.first()?.start_ps);
    let (mut busy_ps, mut end, mut kernels_ps) = (0, begin, 0);
    for call in calls {
        let start = i128::from(call.start_ps);
        let stop = start + i128::from(call.duration_ps);
        kernels_ps += i128::from(call.duration_ps);
        if stop > end {
            busy_ps += stop - start.max(end);
            end = stop;
        }
    }
    let elapsed_ps = end - begin;
    Some(Timeline { elapsed_ps, busy_ps, idle_ps: elapsed_ps - busy_ps, overlap_ps: kernels_ps - busy_ps, kernels_ps })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn overlap_and_idle() {
        let call = |start_ps, duration_ps| Call { signature: 0, event: 0, start_ps, duration_ps };
        let calls = [call(0, 10), call(2, 3), call(8, 10), call(30, 5)];
        let expected = Timeline { elapsed_ps: 35, busy_ps: 23, idle_ps: 12, overlap_ps: 5, kernels_ps: 28 };
        assert_eq!(timeline(&calls), Some(expected));
        let later = calls.map(|call| Call { start_ps: call.start_ps + 1_000, ..call });
        assert_eq!(timeline(&later), Some(expected));
        assert_eq!(timeline(&[]), None);
    }

    proptest! {
        #[test]
        fn the_equation_holds(mut calls in prop::collection::vec((0i64..50, 0i64..20), 1..20)) {
            calls.sort_unstable();
            let calls: Vec<Call> = calls.into_iter().map(|(start_ps, duration_ps)| Call { signature: 0, event: 0, start_ps, duration_ps }).collect();
            let line = timeline(&calls).unwrap();
            prop_assert_eq!(line.elapsed_ps - line.kernels_ps, line.idle_ps - line.overlap_ps);
            prop_assert!(line.idle_ps >= 0 && line.overlap_ps >= 0);
        }
    }
}
