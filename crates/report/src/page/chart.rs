//! A finished chart.

use crate::page::markup::{escape, push_escaped};

/// How much room a chart takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChartWidth {
    /// Half a page, where the page is wide enough for two.
    #[default]
    Half,
    /// The whole width.
    Whole,
}

/// A chart with its title and how to read it.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    title: String,
    note: String,
    body: String,
    width: ChartWidth,
    table: Option<&'static str>,
}

impl Chart {
    /// `body` is markup.
    pub(crate) fn new(title: &str, body: String, width: ChartWidth) -> Chart {
        Chart { title: title.to_owned(), note: String::new(), body, width, table: None }
    }

    /// How to read it, below its title.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Chart {
        self.note = note.into();
        self
    }

    /// The key of the table whose rows its points lead to.
    #[must_use]
    pub fn leads_to(mut self, table: &'static str) -> Chart {
        self.table = Some(table);
        self
    }

    /// The room that it takes.
    #[must_use]
    pub fn width(mut self, width: ChartWidth) -> Chart {
        self.width = width;
        self
    }

    pub(crate) fn to_markup(&self) -> String {
        let mut out = String::from("<figure class=\"chart");
        if self.width == ChartWidth::Whole {
            out.push_str(" whole");
        }
        out.push('"');
        if let Some(table) = self.table {
            out.push_str(" data-table=\"");
            out.push_str(&escape(table));
            out.push('"');
        }
        out.push_str("><figcaption><h3>");
        push_escaped(&mut out, &self.title);
        out.push_str("</h3>");
        if !self.note.is_empty() {
            out.push_str("<p class=\"note\">");
            push_escaped(&mut out, &self.note);
            out.push_str("</p>");
        }
        out.push_str("</figcaption><div class=\"picture\">");
        out.push_str(&self.body);
        out.push_str("</div></figure>");
        out
    }
}

/// The names of series with their colours.
pub(crate) fn legend<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.collect();
    let mut out = String::from("<ul class=\"legend\">");
    for (name, colour) in names.iter().zip(colours(&names)) {
        out.push_str("<li><i class=\"");
        out.push_str(colour);
        out.push_str("\"></i>");
        push_escaped(&mut out, name);
        out.push_str("</li>");
    }
    out + "</ul>"
}

const GREY: &str = "s8";
/// Colours of what has no colour of its own.
const FREE: [&str; 10] = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s9", "s10"];

/// What has one colour on every page, in lower case. Green is measured, amber uncertain, red longer or missing, blue shorter.
const NAMED: [(&str, &str); 46] = [
    ("activation", "s3"),
    ("added", "s0"),
    ("analytic", GREY),
    ("attention", "s2"),
    ("beyond", "fair"),
    ("collective", "s1"),
    ("communication", "s1"),
    ("compute", "s0"),
    ("deleted", "more"),
    ("dense gemm", "s0"),
    ("device idle", GREY),
    ("elementwise", "s10"),
    ("exact", "good"),
    ("exposed communication", "s1"),
    ("exposed copies", "s7"),
    ("extrapolated", "fair"),
    ("faster", "less"),
    ("found", "good"),
    ("gemm", "s0"),
    ("host late", "s9"),
    ("host, waiting", "s9"),
    ("hotspot", "more"),
    ("inconclusive", "fair"),
    ("interpolated", "s6"),
    ("kv_cache", "s10"),
    ("measured", "good"),
    ("missed", "more"),
    ("missing", "more"),
    ("moe", "s4"),
    ("norm", "s5"),
    ("norm_add", "s5"),
    ("not touched", GREY),
    ("only in a", "s3"),
    ("only in b", "s6"),
    ("other", GREY),
    ("others", GREY),
    ("padded", "s5"),
    ("partial", "s3"),
    ("partly found", "fair"),
    ("rope", "s6"),
    ("rope and kv cache", "s6"),
    ("same", GREY),
    ("slower", "more"),
    ("touched", "more"),
    ("unchanged", GREY),
    ("within ±20 %", "good"),
];

/// The classes of series: a colour of their own, else free ones in their order; what goes beyond the palette is grey.
pub(crate) fn colours(names: &[&str]) -> Vec<&'static str> {
    let own = |name: &&str| {
        let folded = name.to_lowercase();
        NAMED.iter().find(|(known, _)| *known == folded).map(|(_, colour)| *colour)
    };
    let owned: Vec<Option<&str>> = names.iter().map(own).collect();
    let mut taken: Vec<&str> = Vec::new();
    for colour in owned.iter().flatten() {
        if !taken.contains(colour) {
            taken.push(colour);
        }
    }
    let mut free = FREE.into_iter().filter(|colour| !taken.contains(colour));
    let mut given: Vec<&str> = Vec::new();
    let give = |own: &Option<&'static str>| {
        let colour = match own {
            Some(colour) if *colour == GREY || !given.contains(colour) => colour,
            _ => free.next().unwrap_or(GREY),
        };
        given.push(colour);
        colour
    };
    owned.iter().map(give).collect()
}

/// The class of a series without a name of its own.
pub(crate) fn series(at: usize) -> &'static str {
    FREE.get(at).copied().unwrap_or(GREY)
}

#[cfg(test)]
mod tests {
    use super::colours;

    #[test]
    fn a_name_has_one_colour_wherever_it_stands() {
        assert_eq!(colours(&["GEMM", "Attention", "Quantize"]), ["s0", "s2", "s1"]);
        assert_eq!(colours(&["Quantize", "Attention", "GEMM"]), ["s1", "s2", "s0"]);
        assert_eq!(colours(&["same", "faster", "slower"]), ["s8", "less", "more"]);
        assert_eq!(colours(&["faster", "only in A", "only in B"]), ["less", "s3", "s6"]);
        // Two names of one colour in one chart are told apart.
        assert_eq!(colours(&["gemm", "Dense GEMM"]), ["s0", "s1"]);
        assert_eq!(colours(&["a"; 12])[9..], ["s10", "s8", "s8"]);
    }
}
