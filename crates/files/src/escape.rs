//! Names and pieces of input in messages: on one line, and without power over a terminal.

use std::path::Path;

/// A path for a message: control characters escaped, so that it stays on one line.
pub fn shown(path: &Path) -> String {
    escape_controls(&path.to_string_lossy())
}

/// A piece of input for a message: control characters escaped, cut after 80 characters.
pub fn excerpt(text: &str) -> String {
    let escaped = escape_controls(text);
    match escaped.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &escaped[..end]),
        None => escaped,
    }
}

fn escape_controls(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character.is_control() {
            true => out.extend(character.escape_default()),
            false => out.push(character),
        }
    }
    out
}
