//! From a page to HTML.

use crate::page::error::Error;
use crate::page::one_page::{Block, Page, Part};
use crate::page::terms;
use minijinja::{Environment, Value, context};
use perfdb_files::escape::for_terminal;
use sha2::{Digest, Sha256};

/// The form of the pages that this version makes and bundles.
pub(crate) const FORM: u32 = 1;

/// Where the report begins and ends in a page; texts cannot hold them, as `<` is escaped in them.
pub(crate) const BEGIN: &str = "<!--report-->";
pub(crate) const END: &str = "<!--/report-->";

const FRAME: &str = include_str!("assets/frame.html");
const REPORT: &str = include_str!("assets/report.html");
const STYLE: &str = include_str!("assets/page.css");
const SCRIPT: &str = include_str!("assets/page.js");

impl Page {
    /// The page as HTML.
    ///
    /// # Errors
    /// When the template has a fault, which no input can cause.
    pub fn to_html(&self) -> Result<String, Error> {
        render(self)
    }
}

fn render(page: &Page) -> Result<String, Error> {
    let parts: Vec<Value> =
        page.parts.iter().enumerate().map(|(at, part)| part_value(at, part)).collect::<Result<_, _>>()?;
    let inputs: Vec<Value> = page
        .provenance
        .inputs
        .iter()
        .map(|input| {
            let size = input.size_bytes.map(|bytes| crate::page::number::size_bytes(bytes as f64));
            context! { role => &input.role, path => &input.path, size => size }
        })
        .collect();
    let mut environment = Environment::new();
    environment.add_template("report.html", REPORT)?;
    let report = environment.get_template("report.html")?.render(context! {
        title => &page.title,
        parts => parts,
        tool => &page.provenance.tool,
        version => &page.provenance.version,
        inputs => inputs,
    })?;
    let contents: Vec<(String, String)> = page
        .parts
        .iter()
        .enumerate()
        .filter(|_| page.parts.len() > 1)
        .map(|(at, part)| (format!("part-{at}"), format!("{}: {}", part.name, part.verdict)))
        .collect();
    frame(&page.title, &contents, &format!("{BEGIN}{report}{END}"))
}

fn part_value(at: usize, part: &Part) -> Result<Value, Error> {
    let blocks: Vec<Value> = part
        .blocks
        .iter()
        .map(|block| {
            Ok(Value::from_safe_string(match block {
                Block::Chart(chart) => chart.to_markup(),
                Block::Table(table) => table.to_markup()?,
            }))
        })
        .collect::<Result<_, Error>>()?;
    let figures: Vec<Value> = part
        .figures
        .iter()
        .map(|figure| context! { name => &figure.name, value => &figure.value, note => &figure.note, help => terms::meaning(&figure.name) })
        .collect();
    Ok(context! {
        anchor => format!("part-{at}"),
        name => &part.name,
        verdict => with_units_kept(&part.verdict),
        trust => part.trust.as_ref().map(|trust| context! { level => trust.level.text(), reason => &trust.reason, help => terms::TRUST }),
        figures => figures,
        notes => &part.notes,
        blocks => blocks,
    })
}

/// The text with no line end between a number and its unit.
fn with_units_kept(text: &str) -> String {
    [" %", " µs", " ms"]
        .into_iter()
        .fold(text.to_owned(), |text, unit| text.replace(unit, &unit.replace(' ', "\u{a0}")))
}

/// The file around one or several reports: style, script, a list of contents (anchor and text).
pub(crate) fn frame(title: &str, contents: &[(String, String)], reports: &str) -> Result<String, Error> {
    let mut environment = Environment::new();
    environment.add_template("frame.html", FRAME)?;
    let contents: Vec<Value> = contents.iter().map(|(anchor, text)| context! { anchor, text }).collect();
    let html = environment.get_template("frame.html")?.render(context! {
        title,
        form => FORM,
        contents => contents,
        script_hash => script_hash(),
        style => Value::from_safe_string(STYLE.to_owned()),
        script => Value::from_safe_string(SCRIPT.to_owned()),
        reports => Value::from_safe_string(reports.to_owned()),
    })?;
    // Nothing but names can hold control characters; those in the data of tables are escaped already.
    Ok(for_terminal(&html).into_owned())
}

/// What the page's policy calls its script: no other one runs.
fn script_hash() -> String {
    format!("sha256-{}", base64(&Sha256::digest(SCRIPT.as_bytes())))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().enumerate().fold(0_u32, |bits, (at, byte)| bits | u32::from(*byte) << (16 - 8 * at));
        for at in 0..4 {
            if at <= chunk.len() {
                out.push(char::from(DIGITS[(bits >> (18 - 6 * at) & 63) as usize]))
            } else {
                out.push('=')
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{KeyFigure, Trust};

    #[test]
    fn base64_as_the_standard_has_it() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    fn page(name: &str) -> Page {
        let part = Part {
            name: name.to_owned(),
            verdict: name.to_owned(),
            trust: Some(Trust::limited(name)),
            figures: vec![KeyFigure::new(name, name).note(name)],
            notes: vec![name.to_owned()],
            blocks: Vec::new(),
        };
        Page { title: name.to_owned(), parts: vec![part.clone(), part], ..Page::default() }
    }

    #[test]
    fn names_cannot_break_out_of_the_page() {
        let html = page("</script><script>alert('x')</script>&\"<!--report-->\u{1b}[2J").to_html().unwrap();
        assert_eq!(html.matches("<script").count(), 1, "the page's own: {html}");
        assert_eq!(html.matches(BEGIN).count(), 1);
        assert!(!html.contains('\u{1b}'));
    }

    #[test]
    fn nothing_comes_from_the_network_and_the_same_page_has_the_same_bytes() {
        let html = page("Qwen3").to_html().unwrap();
        for part in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!html.contains(part), "{part}");
        }
        assert_eq!(html, page("Qwen3").to_html().unwrap());
    }

    #[test]
    fn the_style_and_the_script_do_not_end_their_elements() {
        assert!(!STYLE.contains("</") && !SCRIPT.contains("</script") && !SCRIPT.contains("<!--"));
    }
}
