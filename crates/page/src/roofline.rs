//! What kernels reach under the roofs of their devices.

use crate::chart::{Chart, ChartWidth, legend, series};
use crate::markup::Svg;
use crate::number::grouped;
use crate::scale::Scale;

const SIZE: (f64, f64) = (640.0, 400.0);
const LEFT: f64 = 58.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 46.0;

/// Operations per second over operations per byte, both axes logarithmic, each device with its roof.
#[derive(Debug, Clone, PartialEq)]
pub struct RooflineScatter<'a> {
    /// The devices, in the order of the colours.
    pub roofs: Vec<Roof<'a>>,
}

/// A device, and what runs on it.
#[derive(Debug, Clone, PartialEq)]
pub struct Roof<'a> {
    /// What it is called.
    pub name: &'a str,
    /// Operations and bytes per second, both in 10¹²; nothing where they are not known.
    pub peaks: Option<(f64, f64)>,
    /// The kernels.
    pub points: Vec<RoofPoint<'a>>,
}

/// A kernel of [`Roof`].
#[derive(Debug, Clone, PartialEq)]
pub struct RoofPoint<'a> {
    /// What it is.
    pub name: &'a str,
    /// Operations per byte.
    pub intensity: f64,
    /// Operations per second, in 10¹².
    pub tflop_s: f64,
    /// Row in the table that the chart leads to.
    pub row: usize,
}

impl RooflineScatter<'_> {
    /// Draws it.
    pub fn chart(&self, title: &str) -> Chart {
        let (right, bottom) = (SIZE.0 - 12.0, SIZE.1 - BOTTOM);
        let points = || self.roofs.iter().flat_map(|roof| &roof.points);
        let corners = || self.roofs.iter().filter_map(|roof| roof.peaks.map(|(peak, memory)| (peak / memory, peak)));
        let speeds = || points().map(|point| point.tflop_s);
        // A roof goes on behind its corner.
        let intensities = || points().map(|point| point.intensity).chain(corners().map(|(corner, _)| 2.0 * corner));
        let across = Scale::logarithmic(intensities(), LEFT, right);
        let up = Scale::logarithmic(speeds().chain(corners().map(|(_, peak)| peak)), bottom, TOP);
        let mut svg = Svg::new("roofline", SIZE.0, SIZE.1, &format!("{title}: {} kernels", points().count()));
        across.draw_below(&mut svg, TOP, bottom, "operations per byte");
        up.draw_left(&mut svg, LEFT, right, "TFLOP/s");
        let (lowest, widest) = (speeds().fold(f64::INFINITY, f64::min), intensities().fold(0.0, f64::max));
        for (class, roof) in self.roofs.iter().enumerate() {
            let class = series(class);
            if let Some((peak, memory)) = roof.peaks {
                let corner = peak / memory;
                let first = (lowest / memory).min(corner);
                let line = [(first, first * memory), (corner, peak), (widest, peak)];
                svg.polyline(
                    &format!("curve model {class}"),
                    &line.map(|(intensity, speed)| (across.place(intensity), up.place(speed))),
                );
            }
            for point in &roof.points {
                let roofed =
                    roof.peaks.map(|(peak, memory)| 100.0 * point.tflop_s / peak.min(memory * point.intensity));
                let roofed = roofed.map_or_else(String::new, |part| format!(", {} % of the roof", grouped(part, 1)));
                let title = format!(
                    "{}\n{}: {} TFLOP/s at {} operations per byte{roofed}",
                    point.name,
                    roof.name,
                    grouped(point.tflop_s, 2),
                    grouped(point.intensity, 2)
                );
                let place = (across.place(point.intensity), up.place(point.tflop_s));
                svg.point(&format!("point {class}"), place, 3.5, Some(point.row), &title);
            }
        }
        let body = legend(self.roofs.iter().map(|roof| roof.name)) + &svg.finish();
        Chart::new(title, body, ChartWidth::Half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_roof_is_drawn_where_its_peaks_are_known() {
        let point = RoofPoint { name: "mm 4096", intensity: 100.0, tflop_s: 150.0, row: 3 };
        let roof = |peaks| Roof { name: "trace 1", peaks, points: vec![point.clone()] };
        let chart = |peaks| RooflineScatter { roofs: vec![roof(peaks)] }.chart("Roofs").to_markup();
        let with = chart(Some((1000.0, 2.0)));
        assert_eq!((with.matches("<circle").count(), with.matches("curve model").count()), (1, 1));
        assert!(with.contains("150.00 TFLOP/s at 100.00 operations per byte, 75.0 % of the roof"), "{with}");
        let without = chart(None);
        assert_eq!((without.matches("curve model").count(), without.contains("of the roof")), (0, false));
    }
}
