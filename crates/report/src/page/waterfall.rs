//! From one time to another, step by step.

use crate::page::chart::{Chart, ChartWidth};
use crate::page::markup::push_escaped;
use crate::page::number::{grouped, signed, signed_percent};

/// Steps whose sum is the difference of two values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Waterfall<'a> {
    /// What it begins with, and its value.
    pub from: (&'a str, f64),
    /// What lies between.
    pub steps: Vec<Step>,
    /// What it ends with, and its value.
    pub to: (&'a str, f64),
    /// The unit of all values.
    pub unit: &'a str,
}

/// A step of a waterfall.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Step {
    /// Why, in a few words.
    pub why: String,
    /// What; may be empty.
    pub what: String,
    /// How much.
    pub value: f64,
}

/// The bars' own units.
const WIDTH: f64 = 1000.0;

impl Waterfall<'_> {
    /// Draws it: a table with a bar in each row, which begins where the one above ends. The axis begins near the lowest level, so that
    /// small steps between large values are seen.
    pub(crate) fn chart(&self, title: &str) -> Chart {
        // A ms is a thousand times as much as a µs.
        let decimals = if self.unit == "ms" { 3 } else { 1 };
        let levels = || {
            self.steps.iter().scan(self.from.1, |level, step| {
                *level += step.value;
                Some(*level)
            })
        };
        let all = || levels().chain([self.from.1, self.to.1]).filter(|level| level.is_finite());
        let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
        let room = if high > low { (high - low) * 0.02 } else { 1.0 };
        let (low, high) = (low - room, high + room);
        let place = |level: f64| ((level - low) / (high - low) * WIDTH).clamp(0.0, WIDTH);
        let mut out = String::from(
            "<table class=\"waterfall\"><thead><tr><th scope=\"col\">Why</th><th scope=\"col\" class=\"number\">",
        );
        push_escaped(&mut out, self.unit);
        out += "</th><th scope=\"col\" class=\"number\">of ";
        push_escaped(&mut out, self.from.0);
        out += "</th><td></td></tr></thead><tbody>";
        let share = |value: f64| if self.from.1 > 0.0 { value / self.from.1 * 100.0 } else { f64::NAN };
        let ends = |out: &mut String, (name, value): (&str, f64), is_first: bool| {
            let share =
                if is_first || self.from.1 <= 0.0 { String::new() } else { format!("{} %", grouped(share(value), 1)) };
            let x = place(value);
            let (top, bottom) = if is_first { ("8", "100%") } else { ("0", "8") };
            row(
                out,
                "end",
                (name, ""),
                &grouped(value, decimals),
                &share,
                &format!(
                    "<line class=\"level\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{top}\" y2=\"{bottom}\"/><rect class=\"mark\" x=\"{:.1}\" y=\"3\" width=\"4\" height=\"14\"/>",
                    (x - 2.0).clamp(0.0, WIDTH - 4.0)
                ),
            );
        };
        ends(&mut out, self.from, true);
        let mut level = self.from.1;
        for (step, next) in self.steps.iter().zip(levels()) {
            let (from, to) = (place(level), place(next));
            level = next;
            let class = if step.value > 0.0 { "more" } else { "less" };
            let bar = format!(
                "<line class=\"level\" x1=\"{from:.1}\" x2=\"{from:.1}\" y1=\"0\" y2=\"4\"/>\
                 <rect class=\"{class}\" x=\"{:.1}\" y=\"4\" width=\"{:.1}\" height=\"12\"/>\
                 <line class=\"level\" x1=\"{to:.1}\" x2=\"{to:.1}\" y1=\"16\" y2=\"100%\"/>",
                from.min(to),
                (from - to).abs().max(1.5)
            );
            let share = if self.from.1 > 0.0 { signed_percent(share(step.value)) } else { String::new() };
            row(&mut out, class, (&step.why, &step.what), &signed(step.value, decimals), &share, &bar);
        }
        ends(&mut out, self.to, false);
        Chart::new(title, out + "</tbody></table>", ChartWidth::Whole)
    }
}

fn row(out: &mut String, class: &str, (why, what): (&str, &str), value: &str, share: &str, bar: &str) {
    *out += "<tr class=\"";
    *out += class;
    *out += "\"><th scope=\"row\"><b>";
    push_escaped(out, why);
    *out += "</b>";
    if !what.is_empty() {
        *out += "<span>";
        push_escaped(out, what);
        *out += "</span>";
    }
    *out += "</th><td class=\"number\">";
    push_escaped(out, value);
    *out += "</td><td class=\"number\">";
    push_escaped(out, share);
    *out += "</td><td class=\"bar\"><svg viewBox=\"0 0 1000 20\" preserveAspectRatio=\"none\" aria-hidden=\"true\">";
    *out += bar;
    *out += "</svg></td></tr>";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bar_begins_where_the_one_above_ends() {
        let step = |why: &str, value| Step { why: why.to_owned(), what: String::new(), value };
        let steps = vec![step("calls", 30.0), step("time per call", -10.0)];
        let markup = Waterfall { from: ("measured", 100.0), steps, to: ("predicted", 120.0), unit: "µs" }
            .chart("Why")
            .to_markup();
        // 99.4 to 130.6 is the axis.
        assert!(markup.contains("class=\"more\" x=\"19.2\" y=\"4\" width=\"961.5\""), "{markup}");
        assert!(markup.contains("class=\"less\" x=\"660.3\" y=\"4\" width=\"320.5\""), "{markup}");
        assert!(markup.contains(">−10.0 %<") && markup.contains(">120.0 %<"), "{markup}");
    }

    #[test]
    fn nothing_measured_has_no_shares() {
        let markup = Waterfall { from: ("measured", 0.0), steps: Vec::new(), to: ("predicted", 0.0), unit: "µs" }
            .chart("Why")
            .to_markup();
        assert!(!markup.contains("NaN") && !markup.contains('%') || markup.contains("100%"), "{markup}");
    }
}
