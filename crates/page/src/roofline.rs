//! How close kernels come to what a device can do.

use crate::chart::{Chart, ChartWidth, legend, series};
use crate::markup::{Anchor, Svg};
use crate::number::grouped;
use crate::scale::Scale;

const SIZE: (f64, f64) = (640.0, 430.0);
const LEFT: f64 = 58.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 46.0;

/// Kernels by operations per byte and operations per second, below the roof of a device.
#[derive(Debug, Clone, PartialEq)]
pub struct Roofline<'a> {
    /// The names of the classes, in the order of the colours.
    pub classes: Vec<&'a str>,
    /// What the device can do at most, for each data type or unit that is of interest.
    pub roofs: Vec<Roof<'a>>,
    /// The kernels.
    pub points: Vec<RooflinePoint<'a>>,
}

/// A limit: bandwidth, then arithmetic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Roof<'a> {
    /// Its name.
    pub name: &'a str,
    /// Operations per second, in 10¹².
    pub tera_operations_per_s: f64,
    /// Bytes per second, in 10⁹.
    pub gigabytes_per_s: f64,
}

/// A kernel below a roof.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RooflinePoint<'a> {
    /// What it is.
    pub name: &'a str,
    /// Operations per byte of memory.
    pub intensity: f64,
    /// Operations per second, in 10¹².
    pub tera_operations_per_s: f64,
    /// Position of its class.
    pub class: usize,
    /// Its row in the table that the chart leads to.
    pub row: usize,
}

impl Roofline<'_> {
    /// Draws it, both axes logarithmic.
    pub fn chart(&self, title: &str) -> Chart {
        let (right, bottom) = (SIZE.0 - 12.0, SIZE.1 - BOTTOM);
        let ridge = |roof: &Roof<'_>| roof.tera_operations_per_s * 1e3 / roof.gigabytes_per_s;
        let intensities = self.points.iter().map(|point| point.intensity);
        let across = Scale::logarithmic(intensities.chain(self.roofs.iter().map(ridge)), LEFT, right);
        let rates = self.points.iter().map(|point| point.tera_operations_per_s);
        let up = Scale::logarithmic(rates.chain(self.roofs.iter().map(|roof| roof.tera_operations_per_s)), bottom, TOP);
        let mut svg = Svg::new("roofline", SIZE.0, SIZE.1, &format!("{title}: {} kernels", self.points.len()));
        across.draw_below(&mut svg, TOP, bottom, "operations per byte");
        up.draw_left(&mut svg, LEFT, right, "10¹² operations per second");
        for roof in &self.roofs {
            let reach = |intensity: f64| roof.gigabytes_per_s * intensity / 1e3;
            let first = across.low().max(up.low() * 1e3 / roof.gigabytes_per_s);
            let corner = ridge(roof).clamp(across.low(), across.high());
            let place = |intensity: f64, rate: f64| (across.place(intensity), up.place(rate));
            svg.polyline(
                "roof",
                &[
                    place(first, reach(first)),
                    place(corner, roof.tera_operations_per_s),
                    place(across.high(), roof.tera_operations_per_s),
                ],
            );
            svg.text("name", (right - 4.0, up.place(roof.tera_operations_per_s) - 6.0), Anchor::End, roof.name);
        }
        for point in &self.points {
            let title = format!(
                "{}\n{} operations per byte, {} · 10¹² per second",
                point.name,
                grouped(point.intensity, 1),
                grouped(point.tera_operations_per_s, 2)
            );
            let place = (across.place(point.intensity), up.place(point.tera_operations_per_s));
            svg.point(&format!("point {}", series(point.class)), place, 4.0, Some(point.row), &title);
        }
        let body = legend(self.classes.iter().map(|name| (*name, String::new()))) + &svg.finish();
        Chart::new(title, body, ChartWidth::Half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_at_the_roof_lies_on_its_line() {
        let roof = Roof { name: "fp16", tera_operations_per_s: 300.0, gigabytes_per_s: 1500.0 };
        let point =
            RooflinePoint { name: "MatMulV2", intensity: 200.0, tera_operations_per_s: 300.0, class: 0, row: 0 };
        let markup =
            Roofline { classes: vec!["gemm"], roofs: vec![roof], points: vec![point] }.chart("Roofline").to_markup();
        let corner = markup.split("points=\"").nth(1).and_then(|rest| rest.split(' ').nth(1)).unwrap();
        let (x, y) = corner.split_once(',').unwrap();
        assert!(markup.contains(&format!("cx=\"{x}\" cy=\"{y}\"")), "{markup}");
    }
}
