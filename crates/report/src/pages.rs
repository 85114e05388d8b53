//! Results as pages, one function for each; what a tool read is its provenance.

mod alignment;
mod answers;
mod bandwidth;
mod coverage;
mod doctor;
mod evaluation;
mod forecast;
mod microbench;
mod one_trace;
mod operators;
mod ranks;
mod runs;
mod shapes;
mod traces;
mod versions;

pub use alignment::alignment_page;
pub use answers::{ANSWERS, answers_page};
pub use bandwidth::bandwidth_page;
pub use coverage::coverage_page;
pub use doctor::doctor_page;
pub use evaluation::evaluation_page;
pub use forecast::forecast_page;
pub use microbench::microbench_page;
pub use one_trace::one_trace_page;
pub use operators::operators_page;
pub use ranks::ranks_page;
pub use runs::runs_page;
pub use shapes::shapes_page;
pub use traces::traces_page;
pub use versions::versions_page;

/// A part in percent of a whole; NaN, which is shown as nothing, where there is no whole.
fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { 100.0 * part / whole } else { f64::NAN }
}

/// The same with a capital letter and a full stop.
fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    let first: String = characters.next().map(|first| first.to_uppercase().collect()).unwrap_or_default();
    first + characters.as_str() + "."
}

/// `1 row`, `2 rows`.
pub(crate) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{} {}", crate::page::number::grouped(count as f64, 0), if count == 1 { one } else { many })
}

/// The verdict on a prediction, and the largest reason if there is one.
fn prediction_verdict(predicted_us: f64, measured_us: f64) -> String {
    use crate::page::number::{micros, percent};
    let (predicted, measured) = (micros(predicted_us), micros(measured_us));
    match share(predicted_us - measured_us, measured_us) {
        error if error.is_nan() => format!("{predicted} are predicted, nothing was measured."),
        error if error.abs() < 0.05 => format!("The prediction of {predicted} meets the measured {measured}."),
        error if error > 0.0 => {
            format!("The prediction of {predicted} is {} too long (measured {measured}).", percent(error))
        }
        error => format!("The prediction of {predicted} is {} too short (measured {measured}).", percent(-error)),
    }
}
