//! Durations along one size, between measured ones a line in logarithms of both.

/// A line through measured durations, in the order of the size.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Curve {
    sizes: Vec<f64>,
    durations_us: Vec<f64>,
    /// Where each duration comes from.
    sources: Vec<Source>,
}

/// How an answer came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// A row of a table.
    Measured,
    /// Between rows.
    Interpolated,
    /// Beyond rows, or from a neighbouring case.
    Extrapolated,
    /// From bytes and operations alone.
    Roofline,
}

impl Source {
    /// All of them, the most certain first.
    pub const ALL: [Source; 4] = [Source::Measured, Source::Interpolated, Source::Extrapolated, Source::Roofline];

    pub fn name(self) -> &'static str {
        match self {
            Source::Measured => "measured",
            Source::Interpolated => "interpolated",
            Source::Extrapolated => "extrapolated",
            Source::Roofline => "roofline",
        }
    }

    /// Standard deviation of the logarithm of an answer's error, as leaving rows out of the public tables of NVIDIA GPUs shows it.
    pub(super) fn deviation(self) -> f64 {
        match self {
            Source::Measured => 0.03,
            Source::Interpolated => 0.08,
            Source::Extrapolated => 0.2,
            Source::Roofline => 0.4,
        }
    }
}

impl Curve {
    /// Adds a row; of rows of one size the shortest counts. Call [`Curve::sort`] at the end.
    pub(super) fn push(&mut self, size: f64, duration_us: f64, source: Source) {
        self.sizes.push(size);
        self.durations_us.push(duration_us);
        self.sources.push(source);
    }

    pub(super) fn sort(&mut self) {
        let mut rows: Vec<((f64, f64), Source)> = self.rows().zip(self.sources.iter().copied()).collect();
        rows.sort_by(|(a, _), (b, _)| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        rows.dedup_by(|(later, _), (earlier, _)| later.0 == earlier.0);
        ((self.sizes, self.durations_us), self.sources) = rows.into_iter().unzip();
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.sizes.iter().copied().zip(self.durations_us.iter().copied())
    }

    /// The duration at a size. Below the first row that of the first; above the last one it grows with this power of the size.
    pub(super) fn at(&self, size: f64, power: f64) -> Option<(f64, Source)> {
        let (first, last) = (*self.sizes.first()?, *self.sizes.last()?);
        let next = self.sizes.partition_point(|known| *known < size);
        if self.sizes.get(next) == Some(&size) {
            return Some((self.durations_us[next], self.sources[next]));
        }
        if size < first {
            return Some((self.durations_us[0], Source::Extrapolated));
        }
        if size > last {
            let longest = *self.durations_us.last()?;
            return Some((longest * (size / last).powf(power), Source::Extrapolated));
        }
        let share = (size / self.sizes[next - 1]).ln() / (self.sizes[next] / self.sizes[next - 1]).ln();
        let [before, after] = [self.durations_us[next - 1], self.durations_us[next]].map(f64::ln);
        Some(((before + share * (after - before)).exp(), Source::Interpolated))
    }
}

/// The neighbours of a size among sorted ones, with weights by logarithms; outside of them the nearest, and the size as a multiple of it.
pub(super) fn neighbours(sizes: &[u64], size: u64) -> (Vec<(u64, f64)>, f64) {
    let next = sizes.partition_point(|known| *known < size);
    match (next.checked_sub(1).and_then(|at| sizes.get(at)), sizes.get(next)) {
        (_, Some(&exact)) if exact == size => (vec![(exact, 1.0)], 1.0),
        (None, Some(&first)) => (vec![(first, 1.0)], size as f64 / first as f64),
        (Some(&last), None) => (vec![(last, 1.0)], size as f64 / last as f64),
        (Some(&before), Some(&after)) => {
            let share = (size as f64 / before as f64).ln() / (after as f64 / before as f64).ln();
            (vec![(before, 1.0 - share), (after, share)], 1.0)
        }
        (None, None) => (Vec::new(), 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_and_beyond_rows() {
        let mut curve = Curve::default();
        for (size, duration) in [(16.0, 8.0), (1.0, 2.0), (4.0, 4.0), (4.0, 5.0)] {
            curve.push(size, duration, Source::Measured);
        }
        curve.push(2.0, 3.0, Source::Interpolated);
        curve.sort();
        // A row that was scaled to measured ones is no measured one.
        assert_eq!(curve.at(2.0, 1.0), Some((3.0, Source::Interpolated)));
        assert_eq!(curve.at(4.0, 1.0), Some((4.0, Source::Measured)));
        let (between, source) = curve.at(8.0, 1.0).expect("rows on both sides");
        assert!((between - 32f64.sqrt()).abs() < 1e-9 && source == Source::Interpolated);
        assert_eq!(curve.at(32.0, 1.0), Some((16.0, Source::Extrapolated)));
        assert_eq!(curve.at(32.0, 2.0), Some((32.0, Source::Extrapolated)));
        assert_eq!(Curve::default().at(1.0, 1.0), None);
    }

    #[test]
    fn neighbours_have_weights_of_one() {
        assert_eq!(neighbours(&[2, 8], 4), (vec![(2, 0.5), (8, 0.5)], 1.0));
        assert_eq!(neighbours(&[2, 8], 16), (vec![(8, 1.0)], 2.0));
        assert_eq!(neighbours(&[2, 8], 1), (vec![(2, 1.0)], 0.5));
        assert_eq!(neighbours(&[], 1), (vec![], 1.0));
    }
}
