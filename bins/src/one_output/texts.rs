//! Files of what a tool prints: `.txt` as it is printed, `.md` with the verdict first.

use crate::Failure;
use perfdb_files::escape::one_line;
use perfdb_files::replace::{Parents, Staged, commit};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Lines of a comment that stand open; more of them are folded.
const OPEN_LINES: usize = 40;

/// The files of a run, and what goes into them.
#[derive(Debug, Default)]
struct Texts {
    files: Vec<PathBuf>,
    printed: Vec<u8>,
    /// The first paragraph of Markdown, where it is not the first line that is printed.
    verdict: Option<String>,
    /// All of the Markdown.
    markdown: Option<String>,
    /// What is beyond a limit.
    exceeded: Vec<String>,
}

static TEXTS: Mutex<Option<Texts>> = Mutex::new(None);

/// Begins a run that writes these files.
pub(super) fn keep(files: Vec<PathBuf>) {
    if let Ok(mut texts) = TEXTS.lock() {
        *texts = (!files.is_empty()).then(|| Texts { files, ..Texts::default() });
    }
}

fn with(change: impl FnOnce(&mut Texts)) {
    if let Ok(mut texts) = TEXTS.lock()
        && let Some(texts) = texts.as_mut()
    {
        change(texts);
    }
}

/// Keeps what is printed.
pub(crate) fn printed(bytes: &[u8]) {
    with(|texts| texts.printed.extend_from_slice(bytes));
}

/// What a file of Markdown begins with, where the text on the screen begins otherwise, as the original does.
pub(crate) fn verdict_is(verdict: String) {
    with(|texts| texts.verdict = Some(verdict));
}

/// Whether files of text were asked for.
pub(crate) fn has_texts() -> bool {
    TEXTS.lock().is_ok_and(|texts| texts.is_some())
}

/// What a file of Markdown holds in place of what is printed; its first paragraph is the verdict.
pub(crate) fn markdown_is(text: String) {
    with(|texts| texts.markdown = Some(text));
}

/// What is beyond a limit, which follows the verdict in a file of Markdown.
pub(crate) fn exceeded(line: String) {
    with(|texts| texts.exceeded.push(line));
}

/// Writes the files of text that were asked for.
pub(crate) fn write_texts() -> Result<(), Failure> {
    let Some(texts) = TEXTS.lock().ok().and_then(|mut texts| texts.take()) else { return Ok(()) };
    let text = plain(&String::from_utf8_lossy(&texts.printed));
    let own = texts.markdown.unwrap_or_else(|| markdown(texts.verdict.as_deref(), &text));
    let own = with_limits(&own, &texts.exceeded);
    let staged = texts.files.iter().map(|path| {
        let is_text = path.extension().is_some_and(|suffix| suffix.eq_ignore_ascii_case("txt"));
        Staged::with(path, if is_text { &text } else { &own }.as_bytes(), Parents::MustExist)
    });
    Ok(commit(staged.collect::<Result<Vec<_>, _>>()?)?)
}

/// The verdict as a paragraph, and what follows it as it is on the screen.
fn markdown(verdict: Option<&str>, text: &str) -> String {
    let (verdict, rest) = match verdict {
        Some(verdict) => (verdict, text),
        None => text.split_once('\n').unwrap_or((text, "")),
    };
    let verdict = marked(verdict.trim());
    let rest = rest.trim_matches('\n');
    if rest.is_empty() {
        return format!("**{verdict}**\n");
    }
    let fence = if rest.contains("```") { "~~~~" } else { "```" };
    let block = format!("{fence}text\n{rest}\n{fence}\n");
    match rest.lines().count() {
        ..=OPEN_LINES => format!("**{verdict}**\n\n{block}"),
        lines => format!("**{verdict}**\n\n<details><summary>{lines} lines</summary>\n\n{block}\n</details>\n"),
    }
}

/// What is beyond limits as a list after the first paragraph.
fn with_limits(markdown: &str, exceeded: &[String]) -> String {
    if exceeded.is_empty() {
        return markdown.to_owned();
    }
    let (verdict, rest) = markdown.split_once('\n').unwrap_or((markdown, ""));
    let lines: String =
        exceeded.iter().map(|line| format!("- limit exceeded: {}\n", marked(&one_line(line)))).collect();
    format!("{verdict}\n\n{lines}{rest}")
}

/// Text that is no markup.
fn marked(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('`', "'").replace('*', "\\*")
}

/// The text without its colours.
fn plain(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(part.split_once('m').map_or(part, |(_, rest)| rest));
    }
    plain
}

/// Refuses files of text that are among the inputs.
pub(crate) fn refuse_inputs<'i>(inputs: impl IntoIterator<Item = &'i Path>) -> Result<(), String> {
    let mut files = Vec::new();
    with(|texts| files.clone_from(&texts.files));
    perfdb_files::replace::refuse_inputs(files.iter().map(PathBuf::as_path), inputs)
        .map_err(|error| crate::error_line(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_begins_with_the_verdict() {
        assert_eq!(markdown(None, "all is <well>\n"), "**all is &lt;well>**\n");
        assert_eq!(markdown(None, "verdict\n\na  b\n1  2\n"), "**verdict**\n\n```text\na  b\n1  2\n```\n");
        assert_eq!(markdown(Some("M6 1"), "=\nM6\n"), "**M6 1**\n\n```text\n=\nM6\n```\n");
        let folded = markdown(None, &"line\n".repeat(42));
        assert!(folded.contains("<details><summary>41 lines</summary>\n\n```text\nline\n"), "{folded}");
        assert_eq!(plain("\u{1b}[1mbold\u{1b}[0m"), "bold");
    }

    #[test]
    fn limits_follow_the_verdict() {
        let exceeded = ["a is 2 (limit 1)".to_owned()];
        assert_eq!(
            with_limits("**verdict**\n\nrest\n", &exceeded),
            "**verdict**\n\n- limit exceeded: a is 2 (limit 1)\n\nrest\n"
        );
        assert_eq!(with_limits("**verdict**\n", &[]), "**verdict**\n");
    }
}
