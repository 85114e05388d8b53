//! What to do about the errors, each with what it is worth.

use super::bars::{kernels_against, more_measured, more_predicted, named};
use super::whole::{Uniform, other_workload};
use super::{calls, us};
use perfdb_compare::attribution::{Cause, Contribution, Detail, Explanation, Group, Position, Row, TimeSource};
use perfdb_files::escape::one_line;
use perfdb_store::registry::is_collective;
use std::collections::{BTreeMap, HashMap};

/// Something that would make the prediction better.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Action {
    /// The part of the error that it is about, in picoseconds.
    pub worth_ps: i128,
    /// What to do.
    pub text: String,
    /// The row that is worth measuring: kernel type and cells.
    pub measure: Option<(String, Row)>,
}

impl Action {
    /// Shapes, types and formats of the row, without those at the end that are blank.
    pub(crate) fn row_text(&self) -> Option<String> {
        let (_, row) = self.measure.as_ref()?;
        let parts = [row.input_shapes.trim_matches('"'), &*row.input_types, &*row.input_formats];
        let is_blank = |part: &str| part.chars().all(|letter| letter == ';' || letter.is_whitespace());
        let count = parts.iter().rposition(|part| !is_blank(part)).map_or(0, |last| last + 1);
        Some(parts[..count].join(" | "))
    }
}

/// What to do, by worth. Noise, layers and waits ask for nothing, nor does the difference of two workloads.
pub(crate) fn actions(explanation: &Explanation) -> Vec<Action> {
    if other_workload(explanation).is_some() {
        return Vec::new();
    }
    let uniform = Uniform::of(explanation);
    let groups: HashMap<(&str, &str), &Group> = explanation
        .attribution
        .groups
        .iter()
        .map(|group| ((group.kernel_type.as_str(), group.shape.as_str()), group))
        .collect();
    let mut actions: Vec<Action> = Vec::new();
    let mut ends_ps = 0;
    let mut composites: BTreeMap<&str, (i128, Vec<&str>)> = BTreeMap::new();
    let about = |contribution: &&Contribution| uniform.is_none() || !Uniform::covers(contribution);
    for contribution in explanation.attribution.contributions.iter().filter(about) {
        let worth_ps = contribution.difference_ps.abs();
        match &contribution.detail {
            Detail::Predicted(predicted) if predicted.place != Position::Body => ends_ps += worth_ps,
            Detail::Measured(measured) if measured.composite.is_some() => {
                let entry = composites.entry(measured.composite.as_deref().unwrap_or_default()).or_default();
                entry.0 += worth_ps;
                if !entry.1.contains(&contribution.kernel_type.as_str()) {
                    entry.1.push(&contribution.kernel_type);
                }
            }
            _ => {
                let Some(text) = action(contribution) else { continue };
                let group = groups.get(&(contribution.kernel_type.as_str(), contribution.shape.as_str()));
                let row = group.and_then(|group| group.row.clone()).filter(|_| asks_for_a_row(contribution));
                actions.push(Action {
                    worth_ps,
                    text,
                    measure: row.map(|row| (contribution.kernel_type.clone(), row)),
                });
            }
        }
    }
    for (operator, (worth_ps, kernels)) in composites {
        let text = format!("complete the parts of {operator}: {} run and are not in it", kernels.join("+"));
        actions.push(Action { worth_ps, text, measure: None });
    }
    if let Some(uniform) = uniform {
        let text = format!("{}: {}", uniform.text(), uniform.advice());
        actions.push(Action { worth_ps: uniform.difference_ps.abs(), text, measure: None });
    }
    if ends_ps > 0 {
        let text =
            "cut the pass with its first and last kernels: predicted before the first or after the last measured one";
        actions.push(Action { worth_ps: ends_ps, text: text.to_owned(), measure: None });
    }
    actions.sort_by(|a, b| b.worth_ps.cmp(&a.worth_ps).then_with(|| a.text.cmp(&b.text)));
    actions
}

fn asks_for_a_row(contribution: &Contribution) -> bool {
    matches!(contribution.cause, Cause::Time | Cause::Shape) && !is_collective(&contribution.kernel_type)
}

/// What to do about a contribution, on one line, for any text in its names.
fn action(contribution: &Contribution) -> Option<String> {
    advice(contribution).map(|text| one_line(&text))
}

fn advice(contribution: &Contribution) -> Option<String> {
    let kernel = named(&contribution.kernel_type, &contribution.shape);
    Some(match (&contribution.detail, contribution.cause) {
        (Detail::Time(time), _) if time.noise => return None,
        (Detail::Time(time), _) if time.source.iter().eq([TimeSource::Measured]) => format!(
            "measure {kernel} again (the row says {}, the pass {} us)",
            us(time.predicted_mean_ps),
            us(time.measured_mean_ps)
        ),
        (Detail::Time(time), _) => format!("measure {kernel} (now {})", time.source.text()),
        (Detail::Calls(count), Cause::Count) => format!(
            "check {kernel}: {} calls predicted, {} measured",
            calls(count.predicted_calls),
            calls(count.measured_calls)
        ),
        (Detail::Calls(_) | Detail::Wait(_), _) => return None,
        (Detail::Predicted(_), _) => format!("check {kernel}: predicted, never measured"),
        (Detail::Measured(_), _) => format!("model {kernel}"),
        (Detail::Pool(pool), Cause::OtherKernel) => {
            format!("predict what runs: {} in place of {}", more_measured(pool), more_predicted(pool))
        }
        (Detail::Pool(pool), Cause::Mapping) => format!("map {} to {}", more_predicted(pool), contribution.kernel_type),
        (Detail::Pool(_), Cause::Shape) => format!("measure {kernel}"),
        (Detail::Pool(pool), _) => format!("complete {}: measure {}", contribution.kernel_type, kernels_against(pool)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_ends_with_the_last_thing_known_of_it() {
        let text = |cells: [&str; 3]| {
            let [input_shapes, input_types, input_formats] = cells.map(Into::into);
            let row = Row { input_shapes, input_types, input_formats, ..Row::default() };
            Action { worth_ps: 1, text: String::new(), measure: Some(("Add".to_owned(), row)) }.row_text()
        };
        assert_eq!(text(["\"4,8;8\"", "INT8;INT8", "ND;ND"]).as_deref(), Some("4,8;8 | INT8;INT8 | ND;ND"));
        assert_eq!(text(["4;8", "INT8;INT8", ";"]).as_deref(), Some("4;8 | INT8;INT8"));
        assert_eq!(text(["4;8", "", "ND"]).as_deref(), Some("4;8 |  | ND"));
        assert_eq!(text(["4;8", "", ""]).as_deref(), Some("4;8"));
        assert_eq!(Action { worth_ps: 1, text: String::new(), measure: None }.row_text(), None);
    }
}
