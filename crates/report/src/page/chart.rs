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

/// The names of series with their colours, in the order of the colours.
pub(crate) fn legend<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let mut out = String::from("<ul class=\"legend\">");
    for (at, name) in names.enumerate() {
        out.push_str("<li><i class=\"");
        out.push_str(series(at));
        out.push_str("\"></i>");
        push_escaped(&mut out, name);
        out.push_str("</li>");
    }
    out + "</ul>"
}

/// The class of a series; what goes beyond the palette is grey.
pub(crate) fn series(at: usize) -> &'static str {
    ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"].get(at).copied().unwrap_or("s8")
}
