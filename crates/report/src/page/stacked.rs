//! Parts of a whole, side by side for several wholes.

use crate::page::chart::{Chart, ChartWidth, colours, legend, series};
use crate::page::markup::push_escaped;
use crate::page::number::{counted, grouped, percent};

/// Bars made of the same parts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StackedBars<'a> {
    /// The names of the parts, in the order of the colours.
    pub parts: Vec<&'a str>,
    pub bars: Vec<StackedBar<'a>>,
    /// The unit of all values.
    pub unit: &'a str,
}

/// A bar of [`StackedBars`].
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StackedBar<'a> {
    /// What it is.
    pub name: &'a str,
    /// A value for each part.
    pub values: Vec<f64>,
}

impl StackedBars<'_> {
    /// Draws it, with its numbers in a table that opens below.
    pub(crate) fn chart(&self, title: &str) -> Chart {
        let sum =
            |bar: &StackedBar<'_>| bar.values.iter().filter(|value| value.is_finite() && **value > 0.0).sum::<f64>();
        // Counts have no decimals.
        let is_whole = self.bars.iter().flat_map(|bar| &bar.values).all(|value| value.fract() == 0.0);
        let decimals = match (is_whole, self.unit) {
            (true, _) => 0,
            (_, "ms") => 3,
            _ => 1,
        };
        let longest = self.bars.iter().map(sum).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
        let mut out = legend(self.parts.iter().copied());
        let colours = colours(&self.parts);
        out += "<div class=\"stacked\">";
        for bar in &self.bars {
            let total = sum(bar);
            out += "<div><b>";
            push_escaped(&mut out, bar.name);
            out += "</b><span>";
            push_escaped(&mut out, &counted(total, decimals, self.unit));
            out += "</span><svg viewBox=\"0 0 1000 20\" preserveAspectRatio=\"none\" aria-hidden=\"true\">";
            let mut from = 0.0;
            for (at, value) in bar.values.iter().enumerate().filter(|(_, value)| value.is_finite() && **value > 0.0) {
                let width = value / longest * 1000.0;
                let name = self.parts.get(at).copied().unwrap_or_default();
                out += &format!(
                    "<rect class=\"{}\" x=\"{from:.1}\" y=\"0\" width=\"{width:.1}\" height=\"20\"><title>",
                    colours.get(at).copied().unwrap_or_else(|| series(at))
                );
                push_escaped(
                    &mut out,
                    &format!(
                        "{name}\n{}, {} of {}",
                        counted(*value, decimals, self.unit),
                        percent(value / total.max(f64::MIN_POSITIVE) * 100.0),
                        bar.name
                    ),
                );
                out += "</title></rect>";
                from += width;
            }
            out += "</svg></div>";
        }
        out += "</div>";
        self.push_numbers(&mut out, decimals);
        Chart::new(title, out, ChartWidth::Half)
    }

    fn push_numbers(&self, out: &mut String, decimals: usize) {
        *out += "<details class=\"numbers\"><summary>Numbers</summary><table><thead><tr><th scope=\"col\">";
        push_escaped(out, self.unit);
        *out += "</th>";
        for bar in &self.bars {
            *out += "<th scope=\"col\" class=\"number\">";
            push_escaped(out, bar.name);
            *out += "</th>";
        }
        *out += "</tr></thead><tbody>";
        for (at, part) in self.parts.iter().enumerate() {
            *out += "<tr><th scope=\"row\">";
            push_escaped(out, part);
            *out += "</th>";
            for bar in &self.bars {
                *out += "<td class=\"number\">";
                *out += &grouped(bar.values.get(at).copied().unwrap_or(f64::NAN), decimals);
                *out += "</td>";
            }
            *out += "</tr>";
        }
        *out += "</tbody></table></details>";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_share_one_scale() {
        let bar = |name, values: [f64; 2]| StackedBar { name, values: values.to_vec() };
        let bars = vec![bar("predicted", [30.0, 20.5]), bar("measured", [60.0, 40.0])];
        let markup = StackedBars { parts: vec!["gemm", "norm"], bars, unit: "µs" }.chart("Families").to_markup();
        assert!(markup.contains("x=\"300.0\" y=\"0\" width=\"205.0\""), "{markup}");
        assert!(markup.contains("x=\"600.0\" y=\"0\" width=\"400.0\""), "{markup}");
        assert!(markup.contains("norm\n20.5 µs, 40.6 % of predicted"), "{markup}");
    }
}
