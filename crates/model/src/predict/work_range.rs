//! Calls that do far more, or far less, than the rows that are known.

use crate::roofline::Work;

/// By this share of the logarithm of the work that lies beyond the known rows, the time may be off: they do not tell whether it grows
/// with operations, with bytes, or not at all.
const SHARE: f64 = 0.5;
/// Two octaves: so far beyond the rows, intervals of many rows are learnt from what lies beyond others.
const LEARNT: f64 = 2.0 * std::f64::consts::LN_2;

/// The work of the rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct WorkRange {
    operations: [f64; 2],
    bytes: [f64; 2],
    /// Up to here beyond the rows, intervals know.
    learnt: f64,
}

impl WorkRange {
    /// From the least to the most of rows.
    pub(crate) fn of(works: impl Iterator<Item = Work> + Clone, is_few: bool) -> WorkRange {
        let range = |number: fn(Work) -> f64| {
            let numbers = || works.clone().map(number);
            [numbers().fold(f64::INFINITY, f64::min), numbers().fold(0.0, f64::max)]
        };
        let learnt = if is_few { 0.0 } else { LEARNT };
        WorkRange { operations: range(|work| work.operations), bytes: range(|work| work.bytes), learnt }
    }

    /// Half of an interval, wider where the work lies beyond that of the rows.
    pub(crate) fn widen(&self, half_width: f64, work: Work) -> f64 {
        let outside = beyond(work.operations, self.operations).max(beyond(work.bytes, self.bytes));
        half_width.hypot(SHARE * (outside - self.learnt).max(0.0))
    }
}

/// The logarithm of a number over the end of a range beyond which it lies.
fn beyond(number: f64, [low, high]: [f64; 2]) -> f64 {
    match number {
        number if number > high && high > 0.0 => (number / high).ln(),
        number if number < low && number > 0.0 => (low / number).ln(),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_open_with_the_work_beyond_the_rows() {
        let work = |operations, bytes| Work { operations, bytes };
        let work_range = WorkRange::of([work(10.0, 5.0), work(80.0, 1.0), work(20.0, 2.0)].into_iter(), true);
        let widened = |operations, bytes| work_range.widen(0.3, work(operations, bytes));
        assert_eq!([widened(10.0, 1.0), widened(80.0, 5.0), widened(33.0, 3.0)], [0.3; 3]);
        // Eight times as many operations; a quarter of the bytes; what lies further counts.
        assert!((widened(640.0, 5.0) - 0.3f64.hypot(0.5 * 8f64.ln())).abs() < 1e-12);
        assert!((widened(80.0, 0.25) - 0.3f64.hypot(0.5 * 4f64.ln())).abs() < 1e-12);
        assert_eq!(widened(640.0, 0.25), widened(640.0, 5.0));
    }

    #[test]
    fn many_rows_know_two_octaves_more() {
        let work = |operations| Work { operations, bytes: operations };
        let work_range = WorkRange::of([work(10.0), work(80.0)].into_iter(), false);
        assert_eq!([320.0, 2.5].map(|operations| work_range.widen(0.3, work(operations))), [0.3; 2]);
        assert!((work_range.widen(0.3, work(2560.0)) - 0.3f64.hypot(0.5 * 8f64.ln())).abs() < 1e-12);
    }

    #[test]
    fn what_is_not_done_is_not_far() {
        let copy = |bytes| Work { operations: 0.0, bytes };
        let work_range = WorkRange::of([copy(10.0), copy(40.0)].into_iter(), true);
        assert_eq!(work_range.widen(0.1, copy(20.0)), 0.1);
        assert!((work_range.widen(0.1, copy(80.0)) - 0.1f64.hypot(0.5 * 2f64.ln())).abs() < 1e-12);
        assert_eq!(work_range.widen(0.1, copy(0.0)), 0.1);
    }
}
