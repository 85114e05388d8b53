//! Predicted against measured time.

use crate::page::chart::{Chart, ChartWidth, colours, legend, series};
use crate::page::markup::{Anchor, Svg};
use crate::page::number::{grouped, signed_percent};
use crate::page::scale::Scale;

/// Points that are drawn; a page with more is slow to scroll, and points would hide each other.
const MOST_POINTS: usize = 1500;

/// Longer durations are not of a kernel; one of them would press all others into a corner.
const LONGEST_US: f64 = 1e9;

const SIZE: (f64, f64) = (640.0, 470.0);
const LEFT: f64 = 58.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 46.0;
/// Room at the left and at the bottom for points that one side lacks.
const RAIL: f64 = 26.0;

/// Predicted against measured time, both axes logarithmic, with the bands of ±10 % and ±20 %.
#[derive(Debug, Clone, PartialEq)]
pub struct Accuracy<'a> {
    /// The names of the classes, in the order of the colours.
    pub classes: Vec<&'a str>,
    /// The points; those with the most measured time are drawn where there are very many.
    pub points: Vec<AccuracyPoint<'a>>,
    /// The names of the two sides: what was predicted, what was measured.
    pub sides: (&'a str, &'a str),
}

/// A point of an [`Accuracy`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AccuracyPoint<'a> {
    /// What it is.
    pub name: &'a str,
    /// Predicted time, µs; 0 if there is none.
    pub predicted_us: f64,
    /// Measured time, µs; 0 if there is none.
    pub measured_us: f64,
    /// Position of its class.
    pub class: usize,
    /// Its row in the table that the chart leads to.
    pub row: usize,
}

impl Accuracy<'_> {
    /// Draws it in µs.
    pub fn chart(&self, title: &str) -> Chart {
        self.chart_in(title, ("µs", 1.0))
    }

    /// Draws it in ms.
    pub(crate) fn chart_in_ms(&self, title: &str) -> Chart {
        self.chart_in(title, ("ms", 1e-3))
    }

    fn chart_in(&self, title: &str, (unit, factor): (&str, f64)) -> Chart {
        let size = |point: &AccuracyPoint<'_>| point.measured_us.max(point.predicted_us);
        let (absurd, mut points): (Vec<_>, Vec<_>) = self.points.iter().partition(|point| size(point) > LONGEST_US);
        points.sort_by(|a, b| size(b).total_cmp(&size(a)).then(a.row.cmp(&b.row)));
        let left_out = points.len().saturating_sub(MOST_POINTS);
        points.truncate(MOST_POINTS);
        let times = || points.iter().flat_map(|point| [factor * point.predicted_us, factor * point.measured_us]);
        let decimals = if factor < 1.0 { 4 } else { 1 };
        let (right, bottom) = (SIZE.0 - 12.0, SIZE.1 - BOTTOM);
        let across = Scale::logarithmic(times(), LEFT + RAIL, right);
        let up = Scale::logarithmic(times(), bottom - RAIL, TOP);
        let mut svg = Svg::new("accuracy", SIZE.0, SIZE.1, &format!("{title}: {} points", points.len()));
        for (class, share) in [("band wide", 0.2), ("band", 0.1)] {
            let (low, high) = (across.low(), across.high());
            // The bands are straight on logarithmic axes; beyond an end they follow it.
            let edge = |factor: f64, forth: bool| {
                let corners = [low, low / factor, high / factor, high].map(|x| x.clamp(low, high));
                let mut edge: Vec<(f64, f64)> =
                    corners.into_iter().map(|x| (across.place(x), up.place(x * factor))).collect();
                edge.sort_by(|a, b| a.0.total_cmp(&b.0));
                if !forth {
                    edge.reverse();
                }
                edge
            };
            let points: Vec<(f64, f64)> = edge(1.0 + share, true).into_iter().chain(edge(1.0 - share, false)).collect();
            svg.polygon(class, &points);
        }
        across.draw_below(&mut svg, TOP, bottom, &format!("{}, {unit}", self.sides.1));
        up.draw_left(&mut svg, LEFT, right, &format!("{}, {unit}", self.sides.0));
        svg.line("diagonal", (LEFT + RAIL, bottom - RAIL), (right, TOP));
        let largest = points.first().map_or(1.0, &size).max(f64::MIN_POSITIVE);
        let colours = colours(&self.classes);
        let colour = |class: usize| colours.get(class).copied().unwrap_or_else(|| series(class));
        for point in &points {
            let x = if point.measured_us > 0.0 {
                across.place(factor * point.measured_us)
            } else {
                LEFT + RAIL / 2.0 - 2.0
            };
            let y = if point.predicted_us > 0.0 {
                up.place(factor * point.predicted_us)
            } else {
                bottom - RAIL / 2.0 + 2.0
            };
            let radius = 2.5 + 8.0 * (size(point) / largest).clamp(0.0, 1.0).sqrt();
            let error = match (point.measured_us > 0.0, point.predicted_us > 0.0) {
                (true, true) => signed_percent((point.predicted_us - point.measured_us) / point.measured_us * 100.0),
                (false, _) => format!("not in {}", self.sides.1.to_lowercase()),
                (true, false) => format!("not in {}", self.sides.0.to_lowercase()),
            };
            let title = format!(
                "{}\n{} {} {unit}, {} {} {unit}: {error}",
                point.name,
                self.sides.0,
                grouped(factor * point.predicted_us, decimals),
                self.sides.1,
                grouped(factor * point.measured_us, decimals)
            );
            svg.point(&format!("point {}", colour(point.class)), (x, y), radius, Some(point.row), &title);
        }
        if points.iter().any(|point| point.measured_us <= 0.0) {
            svg.text("rail", (LEFT + 2.0, TOP + 10.0), Anchor::Start, "one side only");
        }
        let mut body = legend(self.classes.iter().copied());
        body += &svg.finish();
        let mut note =
            "Bands: ±10 % and ±20 %. The area of a point grows with its time; a point leads to its row.".to_owned();
        if left_out > 0 {
            note += &format!(" The {MOST_POINTS} with the most time are drawn, {left_out} more are in the table.");
        }
        if !absurd.is_empty() {
            let (points, are) = if absurd.len() == 1 { ("point", "is") } else { ("points", "are") };
            note += &format!(" {} {points} of more than 1,000 s {are} in the table alone.", absurd.len());
        }
        Chart::new(title, body, ChartWidth::Half).note(note)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(predicted_us: f64, measured_us: f64, row: usize) -> AccuracyPoint<'static> {
        AccuracyPoint { name: "MatMulV2 <1,2>", predicted_us, measured_us, class: 0, row }
    }

    #[test]
    fn points_lead_to_their_rows_and_name_the_error() {
        let points = vec![point(90.0, 100.0, 7), point(5.0, 0.0, 8)];
        let markup =
            Accuracy { classes: vec!["measured"], points, sides: ("Predicted", "Measured") }.chart("A").to_markup();
        assert!(markup.contains("data-row=\"7\"") && markup.contains("−10.0 %"), "{markup}");
        assert!(markup.contains("not in measured") && markup.contains("MatMulV2 &lt;1,2&gt;"), "{markup}");
    }

    #[test]
    fn the_largest_of_very_many_points_are_drawn() {
        let points = (0..2000).map(|at| point(f64::from(at), f64::from(at), at as usize)).collect();
        let markup = Accuracy { classes: Vec::new(), points, sides: ("Predicted", "Measured") }.chart("A").to_markup();
        assert_eq!(markup.matches("<circle").count(), MOST_POINTS);
        assert!(markup.contains("500 more are in the table") && markup.contains("data-row=\"1999\""));
    }

    #[test]
    fn absurd_durations_do_not_stretch_the_axes() {
        let chart = |points| Accuracy { classes: Vec::new(), points, sides: ("P", "M") }.chart("A").to_markup();
        let sane = vec![point(9.0, 10.0, 0), point(80.0, 100.0, 1)];
        let absurd = chart([sane.clone(), vec![point(8.0, 1e300, 2)]].concat());
        assert!(absurd.contains("1 point of more than 1,000 s is in the table alone"), "{absurd}");
        let circles = |markup: &str| markup.split("<circle").skip(1).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(circles(&absurd).len(), 2);
        assert_eq!(circles(&absurd)[0], circles(&chart(sane))[0]);
    }

    #[test]
    fn odd_numbers_draw_something() {
        let points = vec![point(f64::NAN, f64::INFINITY, 0)];
        let markup = Accuracy { classes: Vec::new(), points, sides: ("P", "M") }.chart("A").to_markup();
        assert!(!markup.contains("\"NaN") && !markup.contains("\"inf"), "{markup}");
    }
}
