//! From values to places on an axis.

use crate::page::markup::{Anchor, Svg};
use crate::page::number::short;

/// An axis: values from `low` to `high` at places from `start` to `end`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    low: f64,
    high: f64,
    start: f64,
    end: f64,
    is_logarithmic: bool,
}

impl Scale {
    /// A straight axis from 0 or below.
    pub(crate) fn linear(low: f64, high: f64, start: f64, end: f64) -> Scale {
        let high = if high > low { high } else { low + 1.0 };
        Scale { low, high, start, end, is_logarithmic: false }
    }

    /// A logarithmic axis around the values above zero.
    pub(crate) fn logarithmic(values: impl Iterator<Item = f64>, start: f64, end: f64) -> Scale {
        let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
        for value in values.filter(|value| value.is_finite() && *value > 0.0) {
            (low, high) = (low.min(value), high.max(value));
        }
        if high <= 0.0 {
            (low, high) = (1.0, 10.0);
        }
        // Room around, and an axis even for a single value.
        let (low, high) = (low / 1.5, high * 1.5);
        Scale { low, high, start, end, is_logarithmic: true }
    }

    pub(crate) fn low(&self) -> f64 {
        self.low
    }

    pub(crate) fn high(&self) -> f64 {
        self.high
    }

    /// The place of a value; beyond the ends it is the end.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let part = if self.is_logarithmic {
            (value.max(f64::MIN_POSITIVE) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.start + part.clamp(0.0, 1.0) * (self.end - self.start)
    }

    /// Round values on the axis: some five to ten.
    pub(crate) fn ticks(&self) -> Vec<f64> {
        if self.is_logarithmic { self.decades() } else { self.steps() }
    }

    fn decades(&self) -> Vec<f64> {
        if self.high / self.low < 8.0 {
            return self.steps();
        }
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let digits: &[f64] = match last - first {
            ..=2 => &[1.0, 2.0, 5.0],
            3..=4 => &[1.0, 3.0],
            _ => &[1.0],
        };
        let every = ((last - first) / 8).max(1) as usize;
        (first..=last)
            .step_by(every)
            .flat_map(|power| digits.iter().map(move |digit| digit * 10_f64.powi(power)))
            .filter(|value| *value >= self.low && *value <= self.high)
            .collect()
    }

    fn steps(&self) -> Vec<f64> {
        let rough = (self.high - self.low) / 5.0;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().find(|digit| digit * power >= rough).unwrap_or(10.0) * power;
        let first = (self.low / step).ceil() as i64;
        (first..first + 12).map(|at| at as f64 * step).take_while(|value| *value <= self.high).collect()
    }

    /// Draws the axis below a plot whose upper end is `top`.
    pub(crate) fn draw_below(&self, svg: &mut Svg, top: f64, bottom: f64, title: &str) {
        for tick in self.ticks() {
            let x = self.place(tick);
            svg.line("grid", (x, top), (x, bottom));
            svg.text("tick", (x, bottom + 15.0), Anchor::Middle, &short(tick));
        }
        svg.text("axis", ((self.start + self.end) / 2.0, bottom + 32.0), Anchor::Middle, title);
    }

    /// Draws the axis at the left of a plot that ends at `right`; its title stands above it.
    pub(crate) fn draw_left(&self, svg: &mut Svg, left: f64, right: f64, title: &str) {
        for tick in self.ticks() {
            let y = self.place(tick);
            svg.line("grid", (left, y), (right, y));
            svg.text("tick", (left - 6.0, y + 4.0), Anchor::End, &short(tick));
        }
        svg.text("axis", (4.0, self.start.min(self.end) - 8.0), Anchor::Start, title);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let scale = Scale::logarithmic([3.0, 40_000.0].into_iter(), 0.0, 100.0);
        assert_eq!(scale.ticks(), [10.0, 100.0, 1000.0, 10_000.0]);
        let scale = Scale::linear(0.0, 47.0, 0.0, 100.0);
        assert_eq!(scale.ticks(), [0.0, 10.0, 20.0, 30.0, 40.0]);
        assert_eq!(scale.place(23.5), 50.0);
    }

    #[test]
    fn an_axis_without_values_is_drawn_all_the_same() {
        let scale = Scale::logarithmic([f64::NAN, 0.0, -1.0].into_iter(), 0.0, 100.0);
        assert!(!scale.ticks().is_empty());
        assert!(Scale::linear(0.0, 0.0, 0.0, 1.0).place(0.0).is_finite());
        assert_eq!(scale.place(0.0), 0.0);
    }
}
