//! Times of one operation in one measurement.

use std::collections::BTreeMap;

/// Times of the calls of one operation, in the order in which they ran.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    pub(crate) values: Vec<f64>,
    pub(crate) strata: Vec<u32>,
    pub(crate) clusters: Vec<u32>,
    pub(crate) has_uneven_clusters: bool,
}

impl Series {
    /// A series whose clusters need not hold the same calls. What counts about them is by how much their calls are longer than
    /// those of their strata; of others, how long they are in all.
    pub fn of_uneven_clusters() -> Series {
        Series { has_uneven_clusters: true, ..Series::default() }
    }

    /// Adds a call. Calls of one `stratum` should take equally long but for noise: the same place in a layer, say. Calls of
    /// one `cluster` (a forward pass) may be slow or fast together.
    pub fn push(&mut self, time: f64, stratum: u32, cluster: u32) {
        self.values.push(time);
        self.strata.push(stratum);
        self.clusters.push(cluster);
    }

    /// Number of calls.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are no calls.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    pub(crate) fn total(&self) -> f64 {
        self.values.iter().sum()
    }
}

/// Outliers farther from their stratum than this many standard deviations are drawn in.
const FARTHEST: f64 = 4.0;
/// Standard deviations of a normal distribution per median distance from the median.
const DEVIATIONS: f64 = 1.4826;
/// Where more of the values are that far out, they are no outliers.
const OUTLIERS: f64 = 0.05;
/// So few values have no outliers that anyone could tell.
const FEWEST: usize = 8;

/// Values with outliers drawn in to four standard deviations of the rest. One call that the host interrupted must not hide
/// what hundreds of others say.
pub(crate) fn without_outliers(series: &Series) -> Vec<f64> {
    let mut values = series.values.clone();
    let mut by_stratum: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (value, stratum) in values.iter().zip(&series.strata) {
        by_stratum.entry(*stratum).or_default().push(*value);
    }
    by_stratum.retain(|_, values| values.len() > 1);
    let middles: BTreeMap<u32, f64> =
        by_stratum.into_iter().map(|(stratum, mut values)| (stratum, median(&mut values))).collect();
    let middle = |at: usize| middles.get(&series.strata[at]).copied().filter(|middle| *middle > 0.0);
    let mut distances: Vec<f64> =
        (0..values.len()).filter_map(|at| Some((values[at] / middle(at)? - 1.0).abs())).collect();
    if distances.len() < FEWEST {
        return values;
    }
    let limit = FARTHEST * DEVIATIONS * median(&mut distances);
    let outside = distances.iter().filter(|distance| **distance > limit).count();
    if limit > 0.0 && outside as f64 <= OUTLIERS * distances.len() as f64 {
        for (at, value) in values.iter_mut().enumerate() {
            if let Some(middle) = middle(at) {
                *value = value.clamp(middle * (1.0 - limit), middle * (1.0 + limit));
            }
        }
    }
    values
}

/// The median, by sorting; not a number of nothing.
pub fn median(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return f64::NAN;
    }
    values.sort_by(f64::total_cmp);
    let (half, odd) = (values.len() / 2, values.len() % 2 == 1);
    if odd { values[half] } else { (values[half - 1] + values[half]) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::{Series, without_outliers};

    fn series(values: impl IntoIterator<Item = f64>) -> Series {
        let mut series = Series::default();
        values.into_iter().for_each(|value| series.push(value, 0, 0));
        series
    }

    #[test]
    fn one_outlier_is_drawn_in_and_two_kinds_of_calls_are_left_alone() {
        let steady = || (0..40).map(|at| 100.0 + f64::from(at % 5));
        assert_eq!(without_outliers(&series(steady())), steady().collect::<Vec<_>>());
        let disturbed = without_outliers(&series(steady().chain([5000.0])));
        assert!((102.0..120.0).contains(&disturbed[40]), "{}", disturbed[40]);
        let kinds = || steady().chain((0..4).map(|_| 5000.0));
        assert_eq!(without_outliers(&series(kinds())), kinds().collect::<Vec<_>>());
    }

    #[test]
    fn strata_have_their_own_middle() {
        let mut series = Series::default();
        (0..40).for_each(|at| series.push(if at % 2 == 0 { 10.0 } else { 1000.0 } + f64::from(at % 3), at % 2, 0));
        assert_eq!(without_outliers(&series), series.values);
    }
}
