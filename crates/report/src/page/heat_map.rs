//! Shares over two axes.

use crate::page::chart::{Chart, ChartWidth};
use crate::page::markup::push_escaped;

/// A share for each pair of two axes, as a table whose cells are shaded.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HeatMap<'a> {
    /// What the rows are.
    pub down: &'a str,
    /// What the columns are.
    pub across: &'a str,
    /// The names of the rows.
    pub rows: Vec<String>,
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The cells, row by row; `None` where there is nothing to have a share of.
    pub cells: Vec<Option<HeatCell>>,
}

/// A cell of a [`HeatMap`].
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HeatCell {
    /// From 0 to 1; NaN for a number that is not to be judged, which is not shaded.
    pub share: f64,
    /// What the cell says.
    pub text: String,
    /// What it says when it is pointed at.
    pub title: String,
}

impl HeatMap<'_> {
    /// Draws it.
    pub(crate) fn chart(&self, title: &str) -> Chart {
        let mut out = String::from("<table class=\"heat\"><thead><tr><th scope=\"col\">");
        push_escaped(&mut out, &format!("{} \\ {}", self.down, self.across));
        out += "</th>";
        for column in &self.columns {
            out += "<th scope=\"col\">";
            push_escaped(&mut out, column);
            out += "</th>";
        }
        out += "</tr></thead><tbody>";
        for (row, cells) in self.rows.iter().zip(self.cells.chunks(self.columns.len().max(1))) {
            out += "<tr><th scope=\"row\">";
            push_escaped(&mut out, row);
            out += "</th>";
            for cell in cells {
                let Some(cell) = cell else {
                    out += "<td class=\"none\"></td>";
                    continue;
                };
                // Ten steps, so that colours and contrast stand in the style sheet.
                let step = (cell.share.clamp(0.0, 1.0) * 10.0).round() as u8;
                let class = if cell.share.is_nan() { "none".to_owned() } else { format!("h{step}") };
                out += &format!("<td class=\"{class}\" title=\"");
                push_escaped(&mut out, &cell.title);
                out += "\">";
                push_escaped(&mut out, &cell.text);
                out += "</td>";
            }
            out += "</tr>";
        }
        Chart::new(title, out + "</tbody></table>", ChartWidth::Whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_say_their_share() {
        let cell =
            |share: f64| Some(HeatCell { share, text: format!("{:.0}", share * 100.0), title: "<t>".to_owned() });
        let map = HeatMap {
            down: "N",
            across: "M",
            rows: vec!["1".to_owned(), "2".to_owned(), "3".to_owned()],
            columns: vec!["16".to_owned(), "32".to_owned()],
            cells: vec![cell(0.0), cell(1.0), None, cell(0.54), cell(f64::NAN)],
        };
        let markup = map.chart("Coverage").to_markup();
        for part in [
            "class=\"h0\"",
            "class=\"h10\"",
            "class=\"h5\"",
            "class=\"none\"></td>",
            "class=\"none\" title",
            "title=\"&lt;t&gt;\">54<",
        ] {
            assert!(markup.contains(part), "{part}: {markup}");
        }
    }
}
