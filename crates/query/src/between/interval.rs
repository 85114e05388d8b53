//! Intervals of rows as they are, and of sums.

use crate::answer::{Answer, Part, Prediction, Source};
use perfdb_predict::{Calls, Class, Estimate, measured_interval, sum};

/// Half of the interval of a duration that was interpolated along one axis without a model of it, as a logarithm.
const UNMODELLED_HALF_WIDTH: f64 = 0.15;

/// The answer with its interval: that of its prediction, of a row, or of the sum of its parts.
pub(crate) fn with_interval(mut answer: Answer) -> Answer {
    if answer.prediction().is_some() || answer.duration_us <= 0.0 {
        return answer;
    }
    let prediction = match answer.parts() {
        [] => of_estimate(estimate(answer.duration_us, answer.source, None), &answer),
        parts => of_parts(parts),
    };
    answer.more.get_or_insert_default().prediction = Some(prediction);
    answer
}

fn estimate(duration_us: f64, source: Source, interval_us: Option<[f64; 2]>) -> Estimate {
    match (interval_us, source) {
        (Some([low_us, high_us]), _) => Estimate { duration_us, low_us, high_us, class: Class::Inside },
        (None, Source::Measured) => measured_interval(duration_us, None),
        (None, _) => Estimate {
            duration_us,
            low_us: duration_us * (-UNMODELLED_HALF_WIDTH).exp(),
            high_us: duration_us * UNMODELLED_HALF_WIDTH.exp(),
            class: Class::Inside,
        },
    }
}

fn of_estimate(estimate: Estimate, answer: &Answer) -> Prediction {
    let Estimate { duration_us, low_us, high_us, class } = estimate;
    let rows: Vec<_> = answer.rows.iter().map(|row| (row.clone(), 1.0 / answer.rows.len() as f64)).collect();
    let lines: Vec<String> = rows.iter().map(|(row, _)| row.to_string()).collect();
    let how = if class == Class::Measured { "measured" } else { "interpolated" };
    let sentence = format!("{} ({how}: {})", said(duration_us, low_us, high_us), lines.join(", "));
    Prediction { low_us, high_us, class, rows, efficiency: None, doubt: None, sentence }
}

fn of_parts(parts: &[Part]) -> Prediction {
    let estimates = parts.iter().map(|part| (part, estimate(part.duration_us, part.source, part.interval_us)));
    let all = sum(estimates.map(|(part, estimate)| Calls { kernel_type: &part.kernel_type, estimate, count: 1.0 }));
    let is_measured = parts.iter().all(|part| part.source == Source::Measured);
    let predicted = parts.iter().filter(|part| part.source != Source::Measured).count();
    let said = said(all.duration_us, all.low_us, all.high_us);
    Prediction {
        low_us: all.low_us,
        high_us: all.high_us,
        class: if is_measured { Class::Measured } else { Class::Inside },
        rows: Vec::new(),
        efficiency: None,
        doubt: None,
        sentence: format!("{said}, the sum of {} kernels of which {predicted} were predicted", parts.len()),
    }
}

fn said(duration_us: f64, low_us: f64, high_us: f64) -> String {
    let half = 100.0 * ((high_us / low_us).sqrt() - 1.0);
    format!("{duration_us:.1} µs ±{half:.0} % ({low_us:.1}–{high_us:.1})")
}
