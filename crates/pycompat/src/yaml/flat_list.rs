//! Lists of flat maps, as scripts write them by the thousand: read line by line, at a tenth of the parser's cost.
//!
//! ```yaml
//! scenarios:
//!   - {name: 's0', tc_trace: a/trace.json, n_forward_passes: 2}
//!   - name: s1
//!     tc_trace: b/trace.json
//! ```
//!
//! What is not written in just these ways is left to the parser, and so is every error: the answer is the same, or none.

use super::compose::MAX_NODES;
use super::{Key, Map, Node, scalar};

/// The parser looks a kilobyte far for the colon behind a key.
const MAX_KEY_BYTES: usize = 128;

/// The document, if it is a list of maps of scalars, or such a list under one key.
pub(super) fn read(text: &str) -> Option<Node> {
    // No value takes less than a byte, so a shorter text has no more values than are allowed.
    if text.len() > MAX_NODES {
        return None;
    }
    let mut lines = text.split('\n').filter(|line| !is_blank_or_comment(line)).peekable();
    let header = match lines.next_if(|line| !line.trim_start_matches(' ').starts_with("- ")) {
        Some(line) => Some(key(line).filter(|(_, rest)| rest.is_empty())?.0),
        None => None,
    };
    let first = lines.peek()?;
    let indent = &first[..first.len() - first.trim_start_matches(' ').len()];
    let mut items = Vec::new();
    while let Some(line) = lines.next() {
        let item = line.strip_prefix(indent)?.strip_prefix("- ")?;
        let mut map = Map::default();
        if let Some(entries) = item.strip_prefix('{') {
            insert_braced(&mut map, entries)?;
        } else {
            insert_line(&mut map, item)?;
            let is_below = |line: &str| line.strip_prefix(indent).is_some_and(|rest| rest.starts_with("  "));
            while let Some(line) = lines.next_if(|line| is_below(line)) {
                insert_line(&mut map, &line[indent.len() + 2..])?;
            }
        }
        items.push(Node::Map(map));
    }
    let list = Node::List(items);
    let Some(header) = header else { return Some(list) };
    let mut document = Map::default();
    document.insert(text_key(header)?, list);
    Some(Node::Map(document))
}

fn is_blank_or_comment(line: &str) -> bool {
    let content = line.trim_start_matches(' ');
    content.is_empty() || content.strip_prefix('#').is_some_and(|comment| comment.bytes().all(is_printable))
}

fn is_printable(byte: u8) -> bool {
    matches!(byte, b' '..=b'~')
}

/// A key and what stands behind its colon.
fn key(text: &str) -> Option<(&str, &str)> {
    let is_of_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let end = text.bytes().position(|byte| !is_of_word(byte))?;
    let (key, rest) = text.split_at(end);
    let begins_as_word = !key.is_empty() && !key.as_bytes()[0].is_ascii_digit();
    (begins_as_word && end <= MAX_KEY_BYTES).then_some((key, rest.strip_prefix(':')?))
}

/// The key, unless it means something else than its text, such as `yes`.
fn text_key(key: &str) -> Option<Key> {
    match scalar::plain(key) {
        Node::Text(text) => Some(Key::Text(text)),
        _ => None,
    }
}

/// `key: value` on a line of its own.
fn insert_line(map: &mut Map, line: &str) -> Option<()> {
    let (key, rest) = key(line)?;
    let (value, rest) = value(rest)?;
    map.insert(text_key(key)?, value);
    rest.is_empty().then_some(())
}

/// `key: value, key: value}`, the rest of a line.
fn insert_braced(map: &mut Map, mut entries: &str) -> Option<()> {
    loop {
        let (key, rest) = key(entries.trim_start_matches(' '))?;
        let (value, rest) = value(rest)?;
        map.insert(text_key(key)?, value);
        match rest.strip_prefix(',') {
            Some(rest) => entries = rest,
            None => return rest.strip_prefix('}')?.bytes().all(|byte| byte == b' ').then_some(()),
        }
    }
}

/// A scalar behind a space, and what follows the spaces behind it.
fn value(text: &str) -> Option<(Node, &str)> {
    let text = text.strip_prefix(' ')?.trim_start_matches(' ');
    let (node, rest) = match text.as_bytes().first()? {
        quote @ (b'\'' | b'"') => {
            let end = text.bytes().skip(1).position(|byte| byte == *quote || byte == b'\\' || !is_printable(byte))? + 1;
            // What a backslash means depends on the quotes; texts with one are left to the parser.
            let rest = text[end..].strip_prefix(char::from(*quote))?;
            (Node::Text(text[1..end].to_owned()), rest)
        }
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' => {
            // Whoever asks for the value knows what may come behind it.
            let end = text.bytes().position(|byte| !is_harmless(byte)).unwrap_or(text.len());
            let (plain, rest) = text.split_at(end);
            (scalar::plain(plain.trim_end_matches(' ')), rest)
        }
        _ => return None,
    };
    Some((node, rest.trim_start_matches(' ')))
}

/// Whether a byte means nothing but itself wherever it stands behind the first byte of a scalar without quotes.
fn is_harmless(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'/' | b'.' | b'_' | b'-' | b'+' | b'=' | b'@' | b'(' | b')')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::compose::compose;
    use proptest::prelude::*;

    /// The document as it is read here, after a look that the parser has the same. Not a number is not an obstacle in texts.
    fn same(text: &str) -> Option<String> {
        let read = format!("{:?}", read(text)?);
        let parsed = compose(text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        assert_eq!(read, format!("{parsed:?}"), "{text:?}");
        Some(read)
    }

    #[test]
    fn lists_of_flat_maps_need_no_parser() {
        for text in [
            "- {name: 's0', tc_trace: /a/b c.json, trace_csv: \"{dir}/c.csv\"}\n- {name: s1, n_forward_passes: 2}\n",
            "- name: Qwen3 PF\n  tc_trace: a-b_(c)+d@e=f.json\n\n  # why\n  n: 1_000\n- {a: 1.5}",
            "# scenarios\nscenarios:\n  # the first\n  - { name:  yes , name: 'no' }  \n  - name: '# [x: y]'   \n",
            "scenarios:\n- a: .nan\n  b: 010\n   \n- a: null\n  b: \"\"",
        ] {
            assert!(same(text).is_some(), "{text}");
        }
        let long = "x".repeat(3000);
        assert!(same(&format!("- {{a: {long}, b: '{long}'}}\n- a: {long}\n  b: \"{long}\"\n")).is_some());
    }

    #[test]
    fn what_is_written_otherwise_is_left_to_the_parser() {
        for text in [
            "",
            "scenarios:",
            "a: b",
            "- ",
            "- a",
            "- {}",
            "- {a: b,}",
            "- {a: b",
            "- {a: }",
            "- {a: b} # c",
            "- {a: [b]}",
            "- {a: 'it''s'}",
            "- {a: \"\\n\"}",
            "- {a: b: c}",
            "- {yes: b}",
            "- {<<: b}",
            "- {a: *b}",
            "- {a: -5}",
            "- {a: b\tc}",
            "- {a: ü}",
            "- a: b # c",
            "- a: b\n c: d",
            "- a: b\n   c: d",
            "- a: b\n    c",
            "- a: |\n    b",
            "- a: b\r\n",
            "- a: b\n---\n- a: b",
            "- a: b\n...\n",
            " - a: b\n- a: b",
            "- a: b\nscenarios:\n- a: b",
            "no:\n- a: b",
            "# \u{1}\n- a: b",
        ] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }

    fn entry() -> impl Strategy<Value = String> {
        let word = prop_oneof![9 => "name|tc_trace|n|_a1", 1 => "yes|1a|<<"];
        let usual = "[a-z0-9/._][a-z0-9/._+-]{0,6}|'[ -&(-\\[\\]-~]{0,6}'|\"[ !#-\\[\\]-~]{0,6}\"|[0-9][0-9_.e+]{0,5}|no|null|.nan|a b  c";
        let value = prop_oneof![19 => usual, 1 => "|~|\\[x\\]|\\*x|a: b|''|\"\\\\n\"|-5|1:30"];
        let space = prop_oneof![19 => " {1,2}", 1 => ""];
        (word, space, value, " {0,1}").prop_map(|(key, space, value, end)| format!("{key}:{space}{value}{end}"))
    }

    /// Documents of which most are read here, some with a few bytes changed.
    fn document() -> impl Strategy<Value = String> {
        let entries = prop::collection::vec(entry(), 1..3);
        let item = (entries, prop::bool::ANY).prop_map(|(entries, braced)| {
            if braced { format!("- {{{}}}", entries.join(", ")) } else { format!("- {}", entries.join("\n  ")) }
        });
        let line = prop_oneof![8 => item, 1 => Just(String::new()), 1 => " {0,3}#[ -~]{0,5}"];
        let lines = (prop::bool::ANY, "|  ", prop::collection::vec(line, 1..4));
        let whole = lines.prop_map(|(header, indent, lines)| {
            let lines = lines.join("\n").split('\n').map(|line| format!("{indent}{line}\n")).collect::<String>();
            format!("{}{lines}", if header { "scenarios:\n" } else { "" })
        });
        let change = (any::<prop::sample::Index>(), "[ -~\n\t]|\n  |: |\n- |é", prop::bool::ANY);
        (whole, prop::collection::vec(change, 0..3)).prop_map(|(mut text, changes)| {
            for (place, with, replaces) in changes {
                let mut starts: Vec<usize> = text.char_indices().map(|(start, _)| start).collect();
                starts.push(text.len());
                let at = place.index(starts.len());
                let end = if replaces { starts[(at + 1).min(starts.len() - 1)] } else { starts[at] };
                text.replace_range(starts[at]..end, &with);
            }
            text
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(2000), ..ProptestConfig::default() })]

        #[test]
        fn the_parser_has_the_same_answer(text in document()) {
            same(&text);
        }
    }
}
