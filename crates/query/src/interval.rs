//! Intervals of rows as they are, and of sums.

use crate::answer::{Answer, CALIBRATED, OTHER_TYPE, Part, Prediction, Source};
use crate::context::Context;
use crate::table::KernelRow;
use perfdb_model::predict::{Calls, Class, Estimate, Timed, log_deviation, measured_interval, sum};
use std::sync::Arc;

/// Half of the interval of a duration that was interpolated along one axis without a model of it, as a logarithm.
const UNMODELLED_HALF_WIDTH: f64 = 0.15;

/// Half of the interval of an answer from rows of another data type, as a logarithm: a product takes up to twice as long in twice the bytes.
const OTHER_TYPE_HALF_WIDTH: f64 = std::f64::consts::LN_2;

/// The same of a message: the p90 of the difference of rows of NCCL in 8 and in 16 bits at the same bytes (H100, B300).
pub(crate) const OTHER_TYPE_OF_MESSAGE: f64 = 0.12;

/// The answer of rows of another data type, which says so.
pub(crate) fn of_other_type(answer: Answer) -> Answer {
    labelled(answer, OTHER_TYPE_HALF_WIDTH)
}

/// The same of a message, of which the bytes count.
pub(crate) fn message_of_other_type(answer: Answer) -> Answer {
    labelled(answer, OTHER_TYPE_OF_MESSAGE)
}

fn labelled(mut answer: Answer, half_width: f64) -> Answer {
    if answer.is_of_other_type() {
        return answer;
    }
    answer.confidence *= (-half_width).exp();
    answer.rule = Some(OTHER_TYPE);
    if let Some(prediction) = answer.more.as_mut().and_then(|more| more.prediction.as_mut()) {
        widen(prediction, half_width);
    }
    answer
}

/// An interval that is wider by half a width on each side.
pub(crate) fn wider([low_us, high_us]: [f64; 2], half_width: f64) -> [f64; 2] {
    [low_us * (-half_width).exp(), high_us * half_width.exp()]
}

/// Makes an interval that of an answer from rows of another data type, and says so.
fn widen(prediction: &mut Prediction, half_width: f64) {
    [prediction.low_us, prediction.high_us] = wider([prediction.low_us, prediction.high_us], half_width);
    let percent = 100.0 * half_width.exp_m1();
    prediction.sentence +=
        &format!("; measured with another data type, so that the interval is {percent:.0} % wider on each side");
}

/// The answer with its interval: that of its prediction, of a row, or of the sum of its parts.
pub(crate) fn with_interval(context: &Context<'_>, mut answer: Answer) -> Answer {
    if answer.prediction().is_some() || answer.duration_us <= 0.0 {
        return answer;
    }
    let mut prediction = match answer.parts() {
        [] => {
            let interval_us = interval_us(context, &answer);
            of_estimate(estimate(timed(context, &answer), answer.duration_us, answer.source, interval_us), &answer)
        }
        parts => of_parts(context, parts, answer.missed_kernels()),
    };
    if let Some(other) = measured_row(context, &answer).and_then(|row| contradicting(row, answer.duration_us)) {
        let us = microseconds(other.search_duration_us());
        prediction.sentence += &format!("; {} has {us} µs for the same case", other.reference());
    }
    if answer.is_of_other_type() {
        let half_width = match timed(context, &answer) {
            Timed::Collective => OTHER_TYPE_OF_MESSAGE,
            _ => OTHER_TYPE_HALF_WIDTH,
        };
        widen(&mut prediction, half_width);
    }
    answer.more.get_or_insert_default().prediction = Some(prediction);
    answer
}

/// The interval of an answer without parts, where more than a default is known of it: of its prediction, or of a row whose calls spread as
/// its table says.
pub(crate) fn interval_us(context: &Context<'_>, answer: &Answer) -> Option<[f64; 2]> {
    if let Some(interval_us) = answer.interval_us() {
        return Some(interval_us);
    }
    let measured_us = row_interval_us(context, measured_row(context, answer)?, answer.duration_us);
    padded_interval_us(context, answer.share, answer.duration_us, measured_us)
}

/// The interval of a row that has a share of what is queried: from its own time to one that grows as the elements do. `None` where the
/// rules have no intervals, and of a row that has all of it the one given.
pub(crate) fn padded_interval_us(
    context: &Context<'_>,
    share: f64,
    duration_us: f64,
    measured_us: Option<[f64; 2]>,
) -> Option<[f64; 2]> {
    if share >= 1.0 || !context.rules.predicts() {
        return measured_us;
    }
    let Estimate { low_us, high_us, .. } = measured_interval(Timed::Kernel, duration_us, None);
    let [low_us, high_us] = measured_us.unwrap_or([low_us, high_us]);
    Some([low_us, high_us / share])
}

/// The row that is the whole answer, of a kernel.
fn measured_row<'c>(context: &Context<'c>, answer: &Answer) -> Option<KernelRow<'c>> {
    let ([row], [kernel_type]) = (answer.rows.as_slice(), answer.kernels.as_slice()) else { return None };
    if !context.rules.predicts()
        || !(matches!(answer.source, Source::Measured | Source::Padded) || answer.rule == Some(CALIBRATED))
        || context.is_collective(kernel_type)
    {
        return None;
    }
    context.table(kernel_type).ok()??.at_line(row.line)
}

/// The row of the same case that is farthest from the one that answers, where they differ by more than such durations do.
fn contradicting(row: KernelRow<'_>, duration_us: f64) -> Option<KernelRow<'_>> {
    if row.spread().is_some() {
        return None;
    }
    let distance = |repeat: &KernelRow<'_>| distance(*repeat, duration_us).abs();
    let farthest = row.table().repeats(row).max_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    (distance(&farthest) > Timed::Kernel.half_width(duration_us)).then_some(farthest)
}

/// A row's duration over that of the one that answers, as a logarithm. A thousand times is far enough: an absurd duration makes no infinite interval.
fn distance(repeat: KernelRow<'_>, duration_us: f64) -> f64 {
    let most = 1000f64.ln();
    (repeat.search_duration_us() / duration_us).ln().clamp(-most, most)
}

/// The interval of a row, where its table shows how far its calls spread, or has several rows of its case, and the rules ask for intervals.
pub(crate) fn row_interval_us(context: &Context<'_>, row: KernelRow<'_>, duration_us: f64) -> Option<[f64; 2]> {
    if !context.rules.predicts() {
        return None;
    }
    let deviation = row.spread().map(log_deviation).or_else(|| deviation_of_repeats(row, duration_us))?;
    let Estimate { low_us, high_us, .. } = measured_interval(Timed::Kernel, duration_us, Some(deviation));
    Some([low_us, high_us])
}

/// How far the rows of one case lie from the one that answers, as the deviation of a logarithm: not less than that of a row of which nothing is
/// known, since two that agree by chance are not proof. `None` of a row that is alone.
fn deviation_of_repeats(row: KernelRow<'_>, duration_us: f64) -> Option<f64> {
    let logarithms = row.table().repeats(row).map(|repeat| distance(repeat, duration_us));
    let (count, squares) = logarithms
        .filter(|logarithm| logarithm.is_finite())
        .fold((0, 0.0), |(count, squares), logarithm| (count + 1, squares + logarithm * logarithm));
    (count > 1).then(|| (squares / f64::from(count - 1)).sqrt().max(Timed::Kernel.deviation(duration_us)))
}

/// What was timed where an answer is no sum.
fn timed(context: &Context<'_>, answer: &Answer) -> Timed {
    Timed::of(answer.kernels.first().is_some_and(|kernel_type| context.is_collective(kernel_type)))
}

fn estimate(timed: Timed, duration_us: f64, source: Source, interval_us: Option<[f64; 2]>) -> Estimate {
    let class = source.class();
    match (interval_us, source) {
        (Some([low_us, high_us]), _) => Estimate { duration_us, low_us, high_us, class },
        (None, Source::Measured) => measured_interval(timed, duration_us, None),
        (None, _) => Estimate {
            duration_us,
            low_us: duration_us * (-UNMODELLED_HALF_WIDTH).exp(),
            high_us: duration_us * UNMODELLED_HALF_WIDTH.exp(),
            class,
        },
    }
}

fn of_estimate(estimate: Estimate, answer: &Answer) -> Prediction {
    let Estimate { low_us, high_us, class, .. } = estimate;
    let rows: Vec<_> = answer.rows.iter().map(|row| (row.clone(), 1.0 / answer.rows.len() as f64)).collect();
    let lines: Vec<String> = rows.iter().map(|(row, _)| row.to_string()).collect();
    let how = match class {
        Class::Measured => "measured",
        Class::Padded => "measured for a smaller shape that the kernel rounds up",
        _ => "interpolated",
    };
    let sentence = format!("{estimate}, {how}: {}", lines.join(", "));
    Prediction { low_us, high_us, class, rows, collocated: None, efficiency: None, doubt: None, sentence }
}

fn of_parts(context: &Context<'_>, parts: &[Part], missed: &[Arc<str>]) -> Prediction {
    let estimates: Vec<(&Part, Estimate)> = parts
        .iter()
        .map(|part| {
            let timed = Timed::of(context.is_collective(&part.kernel_type));
            (part, Estimate { class: part.class, ..estimate(timed, part.duration_us, part.source, part.interval_us) })
        })
        .collect();
    let width = |estimate: &Estimate| estimate.high_us - estimate.low_us;
    let predicted_ones = estimates.iter().map(|(_, estimate)| estimate).filter(|one| one.class != Class::Measured);
    let class = predicted_ones.max_by(|a, b| width(a).total_cmp(&width(b))).map_or(Class::Measured, |one| one.class);
    let calls = estimates.iter().map(|(part, estimate)| Calls {
        kernel_type: &part.kernel_type,
        estimate: *estimate,
        count: 1.0,
    });
    let all = sum(calls);
    let predicted = parts.iter().filter(|part| part.source != Source::Measured).count();
    let estimate = Estimate { duration_us: all.duration_us, low_us: all.low_us, high_us: all.high_us, class };
    Prediction {
        low_us: all.low_us,
        high_us: all.high_us,
        class,
        rows: Vec::new(),
        collocated: None,
        efficiency: None,
        doubt: None,
        sentence: format!("{estimate}, {}", told(parts.len(), predicted, missed)),
    }
}

/// What a sum is of, for a person.
fn told(parts: usize, predicted: usize, missed: &[Arc<str>]) -> String {
    let mut text = match (parts, predicted) {
        (1, 0) => "one measured kernel".to_owned(),
        (1, _) => "one predicted kernel".to_owned(),
        (_, 0) => format!("the sum of {parts} measured kernels"),
        (_, predicted) if predicted == parts => format!("the sum of {parts} predicted kernels"),
        _ => format!("the sum of {parts} kernels, {predicted} of them predicted"),
    };
    if !missed.is_empty() {
        // The interval is that of what is known.
        text += &format!("; without {}, of which nothing is known", missed.join(", "));
    }
    text
}

/// With one decimal; what that would write as zero or as a hundred digits, by its magnitude.
pub(crate) fn microseconds(us: f64) -> String {
    if (0.1..1e9).contains(&us) { format!("{us:.1}") } else { format!("{us:.1e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_say_what_is_predicted_and_what_is_missing() {
        let missed = ["FusedInferAttentionScore".into()];
        let texts = [told(1, 0, &[]), told(2, 0, &missed), told(3, 1, &[]), told(2, 2, &[])];
        assert_eq!(
            texts,
            [
                "one measured kernel",
                "the sum of 2 measured kernels; without FusedInferAttentionScore, of which nothing is known",
                "the sum of 3 kernels, 1 of them predicted",
                "the sum of 2 predicted kernels"
            ]
        );
    }

    #[test]
    fn absurd_durations_are_told_by_their_magnitude() {
        assert_eq!([24.04, 2097.6, 1e300, 1e-300].map(microseconds), ["24.0", "2097.6", "1.0e300", "1.0e-300"]);
    }
}
