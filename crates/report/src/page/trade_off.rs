//! What a device delivers over how long its users wait.

use crate::page::chart::{Chart, ChartWidth, legend, series};
use crate::page::markup::Svg;
use crate::page::number::grouped;
use crate::page::scale::Scale;

const SIZE: (f64, f64) = (640.0, 400.0);
const LEFT: f64 = 58.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 46.0;

/// Deployments by time and throughput, both axes logarithmic, and the line through those that no other one beats in both.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TradeOff<'a> {
    /// Series of deployments, in the order of the colours.
    pub series: Vec<(&'a str, Vec<TradeOffPoint>)>,
    /// What is drawn to the right, with its unit.
    pub across: &'a str,
    /// What is drawn upwards, with its unit.
    pub upwards: &'a str,
}

/// A deployment of [`TradeOff`].
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TradeOffPoint {
    /// What it is.
    pub name: String,
    /// Its time, the lower and the upper end of the interval of it.
    pub time: [f64; 3],
    pub throughput: f64,
    /// Row in the table that the chart leads to.
    pub row: usize,
}

impl TradeOffPoint {
    /// Whether another one is better in one of both, and no worse in the other.
    pub(crate) fn is_beaten_by(&self, other: &TradeOffPoint) -> bool {
        let (faster, more) = (other.time[0] <= self.time[0], other.throughput >= self.throughput);
        faster && more && (other.time[0], other.throughput) != (self.time[0], self.throughput)
    }
}

impl TradeOff<'_> {
    /// Points that no other one beats, by their time.
    fn front(&self) -> Vec<&TradeOffPoint> {
        let points = || self.series.iter().flat_map(|(_, points)| points);
        let mut front: Vec<&TradeOffPoint> =
            points().filter(|point| !points().any(|other| point.is_beaten_by(other))).collect();
        front.sort_by(|a, b| a.time[0].total_cmp(&b.time[0]));
        front
    }

    /// Draws it.
    pub(crate) fn chart(&self, title: &str) -> Chart {
        let (right, bottom) = (SIZE.0 - 12.0, SIZE.1 - BOTTOM);
        let points = || self.series.iter().flat_map(|(_, points)| points);
        let across = Scale::logarithmic(points().flat_map(|point| point.time), LEFT, right);
        let up = Scale::logarithmic(points().map(|point| point.throughput), bottom, TOP);
        let mut svg = Svg::new("trade-off", SIZE.0, SIZE.1, &format!("{title}: {} deployments", points().count()));
        across.draw_below(&mut svg, TOP, bottom, self.across);
        up.draw_left(&mut svg, LEFT, right, self.upwards);
        let place = |point: &TradeOffPoint| (across.place(point.time[0]), up.place(point.throughput));
        let front = self.front();
        let line: Vec<(f64, f64)> = front.iter().map(|point| place(point)).collect();
        svg.polyline("curve front", &line);
        for (class, (_, points)) in self.series.iter().enumerate() {
            let class = series(class);
            for point in points {
                let (x, y) = place(point);
                let [value, low, high] = point.time;
                svg.polyline(&format!("curve {class}"), &[(across.place(low), y), (across.place(high), y)]);
                let best = if front.contains(&point) { ", beaten by none" } else { "" };
                let title = format!(
                    "{}{best}\n{}: {} ({} to {}), {}: {}",
                    point.name,
                    self.across,
                    grouped(value, 2),
                    grouped(low, 2),
                    grouped(high, 2),
                    self.upwards,
                    grouped(point.throughput, 0)
                );
                svg.point(&format!("point {class}"), (x, y), 4.0, Some(point.row), &title);
            }
        }
        let body = legend(self.series.iter().map(|(name, _)| *name)) + &svg.finish();
        Chart::new(title, body, ChartWidth::Half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_through_deployments_that_none_beats() {
        let point = |name: &str, time: f64, throughput: f64, row| TradeOffPoint {
            name: name.to_owned(),
            time: [time, time / 2.0, time * 2.0],
            throughput,
            row,
        };
        let one = vec![point("1", 10.0, 100.0, 0), point("2", 20.0, 150.0, 1), point("3", 30.0, 140.0, 2)];
        let two = vec![point("4", 5.0, 40.0, 3), point("5", 10.0, 90.0, 4)];
        let drawn = TradeOff { series: vec![("a", one), ("b", two)], across: "ms", upwards: "tokens/s" };
        let names: Vec<&str> = drawn.front().iter().map(|point| point.name.as_str()).collect();
        assert_eq!(names, ["4", "1", "2"]);
        let markup = drawn.chart("T").to_markup();
        assert_eq!((markup.matches("<circle").count(), markup.matches("beaten by none").count()), (5, 3));
        assert!(markup.contains("ms: 10.00 (5.00 to 20.00), tokens/s: 90"), "{markup}");
    }

    #[test]
    fn equal_deployments_do_not_beat_each_other() {
        let point = TradeOffPoint { name: String::new(), time: [1.0; 3], throughput: 1.0, row: 0 };
        let drawn = TradeOff { series: vec![("", vec![point.clone(), point])], across: "ms", upwards: "tokens/s" };
        assert_eq!(drawn.front().len(), 2);
    }
}
