//! Times of one operation in one measurement.

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

    /// Adds a call. Calls of one `stratum` should take equally long but for noise: the same point in a layer, say. Calls of
    /// one `cluster` (a forward pass) may be slow or fast together. Both are numbered from 0: what is kept of them goes by the
    /// largest number.
    pub fn push(&mut self, time: f64, stratum: u32, cluster: u32) {
        self.values.push(time);
        self.strata.push(stratum);
        self.clusters.push(cluster);
    }

    /// Adds the calls of another series, whose strata are others than those of this one.
    pub fn append(&mut self, other: &Series) {
        let next = beyond(&self.strata) as u32;
        self.has_uneven_clusters |= other.has_uneven_clusters;
        self.values.extend(&other.values);
        self.strata.extend(other.strata.iter().map(|stratum| next + stratum));
        self.clusters.extend(&other.clusters);
    }

    /// Number of calls.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether it has no calls.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    pub(crate) fn total(&self) -> f64 {
        self.values.iter().sum()
    }

    /// Number of calls by stratum.
    pub(crate) fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; beyond(&self.strata)];
        self.strata.iter().for_each(|stratum| counts[*stratum as usize] += 1);
        counts
    }
}

/// One more than the largest of these numbers.
pub(crate) fn beyond(numbers: &[u32]) -> usize {
    numbers.iter().max().map_or(0, |most| *most as usize + 1)
}

/// Outliers farther from their stratum than this many standard deviations are drawn in.
const FARTHEST: f64 = 4.0;
/// Standard deviations of a normal distribution per median distance from the median.
const DEVIATIONS: f64 = 1.4826;
/// Where more of the values are that far out, they are not outliers.
const OUTLIERS: f64 = 0.05;
/// So few values have no outliers that anyone could tell.
const FEWEST: usize = 8;

/// Values with outliers drawn in to four standard deviations of the rest. One call that the host interrupted must not hide
/// what hundreds of others say.
pub(crate) fn without_outliers(series: &Series) -> Vec<f64> {
    let mut values = series.values.clone();
    let middles = middles(series);
    let middle = |stratum: &u32| middles[*stratum as usize];
    let known = values.iter().zip(&series.strata);
    let mut distances: Vec<f64> =
        known.filter_map(|(value, stratum)| Some((value / middle(stratum)? - 1.0).abs())).collect();
    if distances.len() < FEWEST {
        return values;
    }
    let limit = FARTHEST * DEVIATIONS * median(&mut distances);
    let outside = distances.iter().filter(|distance| **distance > limit).count();
    if limit > 0.0 && outside as f64 <= OUTLIERS * distances.len() as f64 {
        for (value, stratum) in values.iter_mut().zip(&series.strata) {
            if let Some(middle) = middle(stratum) {
                *value = value.clamp(middle * (1.0 - limit), middle * (1.0 + limit));
            }
        }
    }
    values
}

/// The median of each stratum that has several calls, unless it is 0.
fn middles(series: &Series) -> Vec<Option<f64>> {
    let mut ends = series.counts();
    let mut begin = 0;
    for count in &mut ends {
        begin += std::mem::replace(count, begin);
    }
    // The values of one stratum beside each other; each point where one begins moves to where it ends.
    let mut by_stratum = vec![0.0; series.len()];
    for (value, stratum) in series.values.iter().zip(&series.strata) {
        let point = &mut ends[*stratum as usize];
        by_stratum[*point] = *value;
        *point += 1;
    }
    let mut begin = 0;
    let middle = |end: usize| {
        let values = &mut by_stratum[std::mem::replace(&mut begin, end)..end];
        (values.len() > 1).then(|| median(values)).filter(|middle| *middle > 0.0)
    };
    ends.into_iter().map(middle).collect()
}

/// The median; not a number of nothing. Leaves the values in another order.
pub fn median(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return f64::NAN;
    }
    let (half, odd) = (values.len() / 2, values.len() % 2 == 1);
    let (below, middle, _) = values.select_nth_unstable_by(half, f64::total_cmp);
    match below.iter().copied().max_by(f64::total_cmp) {
        Some(before) if !odd => (before + *middle) / 2.0,
        _ => *middle,
    }
}

#[cfg(test)]
mod tests {
    use super::{Series, median, without_outliers};

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

    #[test]
    fn strata_without_calls_are_left_out() {
        let mut gaps = Series::default();
        (0..40).for_each(|at| gaps.push(100.0 + f64::from(at % 5), 3 * (at % 2) + 2, 0));
        gaps.push(5000.0, 5, 0);
        let found = without_outliers(&gaps);
        assert!(found[40] < 120.0, "{}", found[40]);
        assert_eq!(found[..40], gaps.values[..40]);
    }

    #[test]
    fn the_median_stands_in_the_middle() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 3.0, 2.0]), 2.5);
        assert_eq!(median(&mut [7.0]), 7.0);
        assert!(median(&mut []).is_nan());
    }
}
