//! Why an estimate is what it is, for a person.

use crate::predict::class::Class;
use crate::predict::collocated::{CollocatedRow, Seen};
use crate::predict::doubt::Doubt;
use crate::predict::estimate::Estimate;
use crate::predict::extrapolate::Method;
use crate::predict::kriging::MOST_NEIGHBOURS;
use crate::predict::model::{FEWEST_ROWS, Found, Model, Spot};
use crate::predict::point::Point;
use crate::roofline::Roofline;
use std::fmt;

/// Rows with less weight than this are not named.
const LEAST_WEIGHT: f64 = 0.1;
/// Nor is another slice that changes the duration by less than this.
const LEAST_CHANGE: f64 = 0.005;

/// An estimate with what it is based on.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The duration and its interval.
    pub estimate: Estimate,
    /// The rows that it is based on, the heaviest first; the measured one alone where there is one.
    pub neighbours: Vec<Neighbour>,
    /// The slice that was asked.
    pub slice: usize,
    /// The duration of the fitted roofline over this one: 0.62 for 62 %.
    pub efficiency: f64,
    /// The fitted roofline of the slice.
    pub roofline: Roofline,
    /// How many doublings the call is larger than all of its neighbours, where it is.
    pub octaves_beyond: Option<f64>,
    /// How many points are known of its slice, and of those that it was learnt from together with.
    pub known: usize,
    /// How the value was found.
    pub method: Method,
    /// The row of another slice at the point itself, where that tells something of it.
    pub collocated: Option<CollocatedRow>,
    /// How unsure it is; `None` where it is measured.
    pub doubt: Option<Doubt>,
}

/// A row that an estimate is based on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Neighbour {
    /// Its number.
    pub row: u32,
    /// The slice that it is of: another one where slices are learnt from together.
    pub slice: usize,
    /// Its share in the logarithm of the efficiency; they add up to one, and single ones may be negative.
    pub weight: f64,
    pub duration_us: f64,
    pub efficiency: f64,
}

impl Model {
    /// How long a call takes, and which rows say so; `None` as [`predict`](Model::predict).
    pub fn explain(&self, slice: usize, point: &Point) -> Option<Explanation> {
        self.explain_with(slice, point, || None)
    }

    /// The same, where another slice may have a row.
    pub(crate) fn explain_with<'t>(
        &self,
        slice: usize,
        point: &Point,
        seen: impl FnOnce() -> Option<Seen<'t>>,
    ) -> Option<Explanation> {
        let spot = self.spot(slice, point)?;
        let work = self.work(slice, point);
        let found = self.find(&spot, work, seen);
        let measured = self.row_at(&spot, &found.near);
        let estimate = match measured {
            Some(row) => self.measured(row),
            None => self.estimate(slice, work, &found),
        };
        let weights = match measured {
            Some(row) => vec![(row, 1.0)],
            None => found.near.rows().iter().copied().zip(self.weights(&spot, &found)).collect(),
        };
        let mut neighbours: Vec<Neighbour> = weights
            .into_iter()
            .filter(|(_, weight)| *weight != 0.0)
            .map(|(row, weight)| Neighbour {
                row: self.row_numbers[row as usize],
                slice: self.forest.slice_of(row),
                weight,
                duration_us: self.times_us[row as usize],
                efficiency: (-self.own_value(row)).exp(),
            })
            .collect();
        neighbours.sort_by(|a, b| b.weight.abs().total_cmp(&a.weight.abs()));
        let roofline = self.roofline(slice)?;
        let octaves_beyond = match self.size_axis() {
            Some((_, octave)) if estimate.class == Class::Beyond => {
                let sizes = found.near.rows().iter().map(|row| self.scale.size_of(self.forest.row(*row)));
                Some((self.scale.size_of(&spot.point) - sizes.fold(f64::NEG_INFINITY, f64::max)) / octave)
            }
            _ => None,
        };
        Some(Explanation {
            slice,
            efficiency: roofline.time_us(work) / estimate.duration_us,
            method: found.method,
            collocated: found.collocated,
            known: self.len(),
            doubt: if measured.is_some() { None } else { self.doubt_of(&spot, &found, point) },
            estimate,
            neighbours,
            roofline,
            octaves_beyond,
        })
    }

    /// The share of each neighbour in the value: every method is linear in the values of the rows.
    fn weights(&self, spot: &Spot, found: &Found) -> Vec<f64> {
        let rows = found.near.rows();
        if self.len() < FEWEST_ROWS {
            return vec![1.0 / rows.len().max(1) as f64; rows.len()];
        }
        let of_kriging = self.correlations(spot, &found.near).weights(self.correlation.nugget);
        let of_unit = |(index, kriging): (usize, f64)| {
            let mut unit = [0.0; MOST_NEIGHBOURS];
            unit[index] = 1.0;
            found.method.value(kriging, || self.near(spot, found.side, &found.near, &unit))
        };
        of_kriging.into_iter().enumerate().map(of_unit).collect()
    }
}

impl Explanation {
    /// The explanation as a sentence or two, with names of rows by their numbers.
    pub fn sentence(&self, name: impl Fn(u32) -> String) -> String {
        use fmt::Write;
        let mut text = self.estimate.to_string();
        let heavy: Vec<&Neighbour> =
            self.neighbours.iter().filter(|neighbour| neighbour.weight >= LEAST_WEIGHT).collect();
        let names: Vec<String> = heavy.iter().map(|neighbour| name(neighbour.row)).collect();
        let rows = match names.len() {
            0 => "many rows".to_owned(),
            1 => format!("row {}", names[0]),
            _ => format!("rows {}", names.join(", ")),
        };
        // Writing to a string does not fail.
        let _ = match (self.estimate.class, self.octaves_beyond) {
            (Class::Measured | Class::Padded, _) => write!(text, ", measured: {rows}"),
            (Class::Inside, _) if names.len() == 1 => write!(text, ", near {rows}"),
            (Class::Inside, _) => write!(text, ", between {rows}"),
            (Class::Beyond, Some(octaves)) => write!(text, ", {octaves:.1} octaves beyond {rows}"),
            (Class::Beyond, None) => write!(text, ", beyond {rows}"),
            (Class::NewConfiguration, _) => write!(text, ", no measured row has this configuration, from {rows}"),
        };
        let efficiencies = heavy.iter().map(|neighbour| neighbour.efficiency);
        let (low, high) = efficiencies
            .fold((f64::INFINITY, 0.0_f64), |(low, high), efficiency| (low.min(efficiency), high.max(efficiency)));
        if high > 0.0 {
            let (low, high) = (format!("{:.0}", 100.0 * low), format!("{:.0}", 100.0 * high));
            let (subject, verb) = if heavy.len() == 1 { ("it", "runs") } else { ("they", "run") };
            let range = if low == high { low } else { format!("{low}–{high}") };
            let _ = write!(text, "; {subject} {verb} at {range} % of the fitted roofline");
        }
        let others: Vec<&str> = heavy
            .iter()
            .zip(&names)
            .filter(|(neighbour, _)| neighbour.slice != self.slice)
            .map(|(_, name)| name.as_str())
            .collect();
        let _ = match others.as_slice() {
            [] => Ok(()),
            [one] => write!(text, "; row {one} differs in more than sizes"),
            _ => write!(text, "; rows {} differ in more than sizes", others.join(", ")),
        };
        if let Some(collocated) = self.collocated.filter(|collocated| collocated.counts().abs() >= LEAST_CHANGE) {
            let way = if collocated.excess < 0.0 { "faster" } else { "slower" };
            let (row, excess, share) =
                (name(collocated.row), 100.0 * collocated.excess.abs(), 100.0 * collocated.share);
            let _ = write!(
                text,
                "; row {row} (same sizes, other data type) is {excess:.1} % {way} than its neighbours; {share:.0} % of that is applied"
            );
        }
        text
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.sentence(|row| row.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roofline::Terms;

    /// Of a point in this slice, from rows with their slices and weights.
    fn explanation(slice: usize, neighbours: &[(u32, usize, f64)]) -> Explanation {
        let near = |&(row, slice, weight): &_| Neighbour { row, slice, weight, duration_us: 10.0, efficiency: 0.5 };
        Explanation {
            estimate: Estimate { duration_us: 20.0, low_us: 18.0, high_us: 22.2, class: Class::Inside },
            neighbours: neighbours.iter().map(near).collect(),
            slice,
            efficiency: 0.5,
            roofline: Roofline { overhead_us: 1.0, operations_per_us: 1.0, bytes_per_us: 1.0, terms: Terms::default() },
            octaves_beyond: None,
            known: 12,
            method: Method::Kriging,
            collocated: None,
            doubt: None,
        }
    }

    #[test]
    fn rows_of_other_slices_are_named() {
        let mut explanation = explanation(1, &[(7, 1, 0.5), (3, 0, 0.3), (9, 1, 0.2), (1, 0, 0.05)]);
        let sentence = |explanation: &Explanation| explanation.to_string().rsplit("; ").next().map(str::to_owned);
        assert_eq!(sentence(&explanation).as_deref(), Some("row 3 differs in more than sizes"));
        explanation.slice = 0;
        assert_eq!(sentence(&explanation).as_deref(), Some("rows 7, 9 differ in more than sizes"));
        explanation.neighbours.retain(|near| near.slice == 0);
        assert_eq!(sentence(&explanation).as_deref(), Some("it runs at 50 % of the fitted roofline"));
    }

    #[test]
    fn a_new_configuration_may_be_that_of_rows_far_away() {
        let mut explanation = explanation(0, &[(7, 0, 0.6), (3, 0, 0.4)]);
        explanation.estimate.class = Class::NewConfiguration;
        let text = explanation.to_string();
        assert!(text.contains(", no measured row has this configuration, from rows 7, 3; they run"), "{text}");
    }

    #[test]
    fn nothing_lies_between_one_row() {
        let mut explanation = explanation(0, &[(7, 0, 0.95), (3, 0, 0.05)]);
        assert_eq!(
            explanation.to_string(),
            "20.0 µs ±11 % (18.0–22.2), near row 7; it runs at 50 % of the fitted roofline"
        );
        explanation.neighbours[1].weight = 0.2;
        assert!(explanation.to_string().contains(", between rows 7, 3; they run"), "{explanation}");
    }
}
