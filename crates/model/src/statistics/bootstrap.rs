//! The circular block bootstrap of Politis and Romano, without drawing: the variance that it has in the limit of infinitely
//! many resamples is a sum over blocks, so it needs no seed and has no error of its own.

/// Variance of the sum of a series whose values are distances from their mean, by the circular block bootstrap: resamples
/// are drawn block by block of `length` neighbours, the first value following the last. With a length of 1, values count as
/// independent of each other.
pub fn variance_of_sum(distances: &[f64], length: usize) -> f64 {
    let count = distances.len();
    if count == 0 {
        return 0.0;
    }
    let length = length.clamp(1, count);
    // n / length blocks, each one of the n blocks there are: n / length times the mean square of their sums.
    let mut sum: f64 = distances[..length].iter().sum();
    let mut squares = 0.0;
    for at in 0..count {
        squares += sum * sum;
        sum += distances[(at + length) % count] - distances[at];
    }
    squares / length as f64
}

/// By what the variance of a sum is larger than that of independent values if each value inherits from the one before as
/// much as these do (AR(1)); 1 where neighbours are not alike by more than this many standard deviations. Short blocks alone
/// would find less.
pub(crate) fn inherited(distances: &[f64], deviations: f64) -> f64 {
    let count = distances.len() as f64;
    let variance = autocovariance(distances, 0);
    if distances.len() < 8 || variance <= 0.0 {
        return 1.0;
    }
    let found = autocovariance(distances, 1) / variance;
    if found <= deviations / count.sqrt() {
        return 1.0;
    }
    // Correlations of short series come out too small (Kendall 1954).
    let correlation = (found + (1.0 + 3.0 * found) / count).min(0.99);
    (1.0 + correlation) / (1.0 - correlation)
}

/// Length of the blocks by the rule of Politis and White (2004) as Patton, Politis and White corrected it (2009): 1 where
/// neighbours tell nothing about each other, longer the farther they do.
pub fn block_length(distances: &[f64]) -> usize {
    let count = distances.len();
    let variance = autocovariance(distances, 0);
    if count < 8 || variance <= 0.0 {
        return 1;
    }
    let size = count as f64;
    let significant = 2.0 * (size.log10() / size).sqrt();
    let lags_of_silence = (size.log10().sqrt().ceil() as usize).max(5);
    let farthest = (size.sqrt().ceil() as usize + lags_of_silence).min(count - 1);
    let mut correlations = Vec::new();
    let mut memory = 0;
    // Up to the last lag that says something and has no silence before it.
    while correlations.len() < farthest && correlations.len() < memory + lags_of_silence {
        let correlation = autocovariance(distances, correlations.len() + 1) / variance;
        correlations.push(correlation);
        if correlation.abs() >= significant {
            memory = correlations.len();
        }
    }
    if memory == 0 {
        return 1;
    }
    let window = (2 * memory).min(farthest);
    correlations.extend(
        (correlations.len()..window).map(|at| autocovariance(distances, at + 1) / variance).collect::<Vec<f64>>(),
    );
    // Flat up to half of the window, then down to 0.
    let weight = |lag: usize| (2.0 * (1.0 - lag as f64 / window as f64)).min(1.0);
    let terms = || (1..=window).map(|lag| (lag as f64, weight(lag) * correlations[lag - 1]));
    let spectrum = 1.0 + 2.0 * terms().map(|(_, term)| term).sum::<f64>();
    let slope = 2.0 * terms().map(|(lag, term)| lag * term).sum::<f64>();
    if spectrum <= 0.0 {
        return 1;
    }
    let best = (2.0 * slope * slope / (4.0 / 3.0 * spectrum * spectrum)).cbrt() * size.cbrt();
    let longest = (3.0 * size.sqrt()).min(size / 3.0).ceil();
    best.round().clamp(1.0, longest) as usize
}

fn autocovariance(distances: &[f64], lag: usize) -> f64 {
    distances.iter().zip(&distances[lag..]).map(|(one, other)| one * other).sum::<f64>() / distances.len() as f64
}
