//! The same answer in at most N bytes: lists are halved from their ends, what matters least first. Where that is not
//! enough, the verdict, the parts and what was left out remain.

use std::collections::BTreeMap;

use super::{csv, markdown, parts, text};
use crate::layout::Layout;
use crate::page::{Error, Page};
use perfdb_tracediff::OneTrace;

/// [`text`] of at most N bytes.
pub fn bounded_text(one: &OneTrace, lines: &[String], bytes: usize, layout: Layout) -> String {
    let shown = |one: &OneTrace| text(one, lines, layout) + &left_out(one);
    let least = |one: &OneTrace| {
        let verdict = lines.first().map(String::as_str).unwrap_or_default();
        format!("{verdict}\n{}\n{}", parts_line(one), left_out(one))
    };
    within(one, bytes, shown, least)
}

/// [`markdown`] of at most N bytes.
pub fn bounded_markdown(one: &OneTrace, lines: &[String], bytes: usize) -> String {
    let paragraph = |one: &OneTrace| match left_out(one) {
        line if line.is_empty() => line,
        line => format!("\n{line}"),
    };
    let shown = |one: &OneTrace| markdown(one, lines) + &paragraph(one);
    let least = |one: &OneTrace| format!("**{}**\n\n{}\n{}", lines.join("; "), parts_line(one), paragraph(one));
    within(one, bytes, shown, least)
}

/// [`csv()`] of at most N bytes: steps are left out from the end.
pub fn bounded_csv(one: &OneTrace, bytes: usize) -> String {
    within(one, bytes, csv, |one| csv(&OneTrace { steps: Vec::new(), ..one.clone() }))
}

/// JSON of at most N bytes.
pub fn bounded_json(one: &OneTrace, bytes: usize) -> String {
    let json = |one: &OneTrace| serde_json::to_string(one).unwrap_or_default() + "\n";
    let least = |one: &OneTrace| {
        let least = serde_json::json!({
            "format_version": one.format_version, "verdict": one.verdict, "elapsed_ms": one.elapsed_ms,
            "parts_ms": one.parts_ms, "truncated": {"others": 1},
        });
        format!("{least}\n")
    };
    within(one, bytes, json, least)
}

/// A page of at most N bytes: where the whole one does not fit, the text in a page of its own.
///
/// # Errors
/// When the page cannot be made.
pub fn bounded_html(page: &Page, one: &OneTrace, lines: &[String], bytes: usize) -> Result<String, Error> {
    let html = page.to_html()?;
    if html.len() <= bytes {
        return Ok(html);
    }
    let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let page = |text: String| {
        format!("<!doctype html><meta charset=\"utf-8\"><title>explain-trace</title><pre>\n{}</pre>\n", escape(&text))
    };
    let shown = |one: &OneTrace| page(text(one, lines, Layout::default()) + &left_out(one));
    let least = |one: &OneTrace| {
        let verdict = lines.first().map(String::as_str).unwrap_or_default();
        page(format!("{verdict}\n{}\n{}", parts_line(one), left_out(one)))
    };
    Ok(within(one, bytes, shown, least))
}

/// What was left out of lists, as a line; nothing where nothing was.
fn left_out(one: &OneTrace) -> String {
    let Some(truncated) = &one.truncated else { return String::new() };
    let lists: Vec<String> = truncated.iter().map(|(list, count)| format!("{count} {list}")).collect();
    format!("left out: {}\n", lists.join(", "))
}

/// The parts on one line.
fn parts_line(one: &OneTrace) -> String {
    let all: Vec<String> = parts(one).iter().map(|(name, ms)| format!("{name} {ms:.3}")).collect();
    format!("ms: {}", all.join(", "))
}

/// Makes lists shorter until `shown` has at most N bytes; where nothing is left to be cut, `least`.
fn within(
    one: &OneTrace,
    bytes: usize,
    shown: impl Fn(&OneTrace) -> String,
    least: impl Fn(&OneTrace) -> String,
) -> String {
    let mut one = one.clone();
    let mut left_out: BTreeMap<&'static str, usize> = BTreeMap::new();
    loop {
        let text = shown(&one);
        if text.len() <= bytes {
            return text;
        }
        let layers = one.layers.as_mut().map(|layers| &mut layers.rows);
        let halved = halve("operators", &mut one.operators, &mut left_out)
            || halve("top_kernels", &mut one.top_kernels, &mut left_out)
            || halve("classes", &mut one.classes, &mut left_out)
            || layers.is_some_and(|rows| halve("layers", rows, &mut left_out))
            || halve("steps", &mut one.steps, &mut left_out)
            || halve("next", &mut one.next, &mut left_out);
        one.truncated = Some(left_out.clone());
        if !halved {
            return least(&one);
        }
    }
}

fn halve<T>(name: &'static str, rows: &mut Vec<T>, left_out: &mut BTreeMap<&'static str, usize>) -> bool {
    if rows.is_empty() {
        return false;
    }
    let kept = rows.len() / 2;
    *left_out.entry(name).or_default() += rows.len() - kept;
    rows.truncate(kept);
    true
}
