//! Several pages in one file.

use crate::page::error::Error;
use crate::page::render::{BEGIN, END, FORM, frame};
use std::path::PathBuf;

/// A page to be bundled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundledPage {
    /// The file that it was read from, for messages and for its heading.
    pub path: PathBuf,
    /// The page.
    pub html: String,
}

/// One page of several, in their order, with a list of contents. The pages' own scripts are left out for this version's.
///
/// # Errors
/// When a page was not made by perfdb, or by a version with another form of pages.
pub fn bundle(title: &str, pages: &[BundledPage]) -> Result<String, Error> {
    let mut contents = Vec::new();
    let mut reports = String::new();
    for (at, page) in pages.iter().enumerate() {
        let no_report = || Error::NoReport { path: page.path.clone() };
        let form =
            between(&page.html, "<meta name=\"generator\" content=\"perfdb report ", "\">").ok_or_else(no_report)?;
        if form != FORM.to_string() {
            return Err(Error::OtherForm { path: page.path.clone(), found: form.to_owned(), expected: FORM });
        }
        let mut rest = page.html.as_str();
        // A bundle may be bundled again.
        let mut count = 0;
        while let Some(report) = between(rest, BEGIN, END) {
            rest = rest.split_once(END).map_or("", |(_, rest)| rest);
            if let Some(element) = foreign_element(report) {
                return Err(Error::ForeignElement { path: page.path.clone(), element });
            }
            let anchor = format!("report-{at}-{count}");
            count += 1;
            let heading = between(report, "<h1>", "</h1>").unwrap_or_default();
            let file = page.path.file_name().unwrap_or_default().to_string_lossy();
            contents.push((anchor.clone(), format!("{} ({file})", unescaped(heading))));
            // Anchors of parts are of the page that they were made for.
            let report = report.replace(" id=\"part-", &format!(" id=\"{anchor}-part-"));
            reports += &format!("<div id=\"{anchor}\">{BEGIN}{report}{END}</div>");
        }
        if count == 0 {
            return Err(no_report());
        }
    }
    frame(title, &contents, &reports)
}

/// Elements that no report has: they would take the reader elsewhere, or bring something from there.
const FOREIGN: [&str; 10] =
    ["applet", "base", "embed", "form", "frame", "frameset", "iframe", "link", "meta", "object"];

fn foreign_element(report: &str) -> Option<&'static str> {
    report.split('<').skip(1).find_map(|behind| {
        let name: String = behind.chars().take_while(char::is_ascii_alphanumeric).collect();
        FOREIGN.into_iter().find(|foreign| name.eq_ignore_ascii_case(foreign))
    })
}

fn between<'t>(text: &'t str, begin: &str, end: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(begin)?;
    rest.split_once(end).map(|(inside, _)| inside)
}

/// The text of an element that holds no other.
fn unescaped(markup: &str) -> String {
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#x27;", "'"), ("&#39;", "'"), ("&#x2f;", "/"), ("&amp;", "&")]
        .into_iter()
        .fold(markup.to_owned(), |text, (escape, character)| text.replace(escape, character))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{Block, Column, Page, Part, Table};

    fn page(title: &str) -> BundledPage {
        let table = Table::new("rows", "Rows", vec![Column::text("Name", ["A<B"])]);
        let part = Part { verdict: format!("{title} is fine."), blocks: vec![Block::Table(table)], ..Part::default() };
        let page = Page { title: title.to_owned(), parts: vec![part], ..Page::default() };
        BundledPage { path: PathBuf::from(format!("out/{title}.html")), html: page.to_html().unwrap() }
    }

    #[test]
    fn all_reports_and_one_script() {
        let one = page("One & <two>");
        let both = bundle("All", &[one.clone(), page("Three")]).unwrap();
        assert!(both.contains("One &amp; &lt;two&gt; (One &amp; &lt;two&gt;.html)"), "{both}");
        assert!(both.contains("Three is fine.") && both.contains("id=\"report-1-0\""));
        // Two tables' data and the script.
        assert_eq!(both.matches("<script").count(), 3);
        let again = bundle("Again", &[BundledPage { path: "all.html".into(), html: both }, one]).unwrap();
        assert_eq!(again.matches(BEGIN).count(), 3);
    }

    #[test]
    fn what_takes_the_reader_elsewhere_is_refused() {
        for foreign in ["<meta http-equiv=\"refresh\" content=\"0; url=http://x\">", "<IFrame src=x>", "<base href=x>"]
        {
            let mut page = page("One");
            page.html = page.html.replace("<h1>", &format!("{foreign}<h1>"));
            let error = bundle("All", &[page]).unwrap_err();
            assert!(matches!(error, Error::ForeignElement { .. }), "{foreign}: {error}");
        }
    }

    #[test]
    fn what_is_no_report_is_refused() {
        let other = BundledPage { path: "x.html".into(), html: "<html></html>".to_owned() };
        assert_eq!(bundle("All", &[other]).unwrap_err().to_string(), "x.html: not a report page of perfdb");
        let mut newer = page("One");
        newer.html = newer.html.replace("perfdb report 1", "perfdb report 2");
        assert!(matches!(bundle("All", &[newer]), Err(Error::OtherForm { .. })));
    }
}
