//! From the parser's events to values.

use std::collections::HashMap;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, Span, StrInput, Tag};

use super::{Error, Fault, Key, Map, Node, Position, flat_list, scalar};
use crate::float;

/// How deep lists and maps may be nested.
pub const MAX_DEPTH: usize = 128;

/// How many values a document may hold, each copy that an alias makes counted.
pub const MAX_NODES: usize = 1_000_000;

/// How many bytes of text a document may hold, each copy that an alias makes counted.
pub const MAX_TEXT_BYTES: usize = 64 << 20;

const CORE_TAGS: &str = "tag:yaml.org,2002:";

/// Reads one document; a text without any is [`Node::Null`].
///
/// # Errors
/// When the text is not YAML, uses a tag or a key that has no plain value, holds several documents, or is beyond one of the
/// bounds.
pub fn parse(text: &str) -> Result<Node, Error> {
    let text = without_byte_order_mark(text);
    if text.len() > MAX_TEXT_BYTES {
        return Err(Error { fault: Fault::TooMuchText, position: None });
    }
    match flat_list::read(text) {
        Some(document) => Ok(document),
        None => compose(text),
    }
}

/// Reads a document of any form, without a byte-order mark.
pub(super) fn compose(text: &str) -> Result<Node, Error> {
    check_characters(text)?;
    let mut composer = Composer { parser: parser(text), anchors: HashMap::new(), weight: Weight::default() };
    composer.document()
}

pub(super) fn without_byte_order_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

pub(super) fn parser(text: &str) -> Parser<'_, StrInput<'_>> {
    // The parser counts lists and maps in flow form and others apart; the composer counts both.
    let options = granit_parser::options! { flow_nesting_limit: MAX_DEPTH, block_nesting_limit: MAX_DEPTH };
    Parser::new_from_str_with_options(text, options)
}

/// The characters that YAML 1.1 calls printable.
fn check_characters(text: &str) -> Result<(), Error> {
    if text.bytes().all(|byte| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~')) {
        return Ok(());
    }
    let allowed = |character: char| match character {
        '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' => true,
        _ => character >= '\u{a0}' && !matches!(character, '\u{fffe}' | '\u{ffff}'),
    };
    let Some(at) = text.find(|character| !allowed(character)) else {
        return Ok(());
    };
    let before = &text[..at];
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    let position =
        Position { line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1 };
    let character = text[at..].chars().next().unwrap_or_default();
    Err(Error { fault: Fault::Character(character), position: Some(position) })
}

pub(super) fn position(span: &Span) -> Position {
    Position { line: span.start.line(), column: span.start.col() + 1 }
}

/// How much a value takes.
#[derive(Clone, Copy, Default)]
struct Weight {
    nodes: usize,
    text_bytes: usize,
}

struct Composer<'t> {
    parser: Parser<'t, StrInput<'t>>,
    /// Finished values with an anchor, and what each takes.
    anchors: HashMap<usize, (Node, Weight)>,
    /// What has been made so far, copies included.
    weight: Weight,
}

impl<'t> Composer<'t> {
    fn document(&mut self) -> Result<Node, Error> {
        let mut root = None;
        loop {
            let Some((event, span)) = self.next()? else {
                return Ok(root.unwrap_or(Node::Null));
            };
            match event {
                Event::DocumentStart(..) if root.is_some() => {
                    return Err(Error { fault: Fault::SeveralDocuments, position: Some(position(&span)) });
                }
                Event::DocumentStart(..) => {
                    let (event, span) = self.needed()?;
                    root = Some(self.node(event, span, 0)?);
                }
                _ => {}
            }
        }
    }

    fn next(&mut self) -> Result<Option<(Event<'t>, Span)>, Error> {
        self.parser.next_event().transpose().map_err(|error| {
            let position = Position { line: error.marker().line(), column: error.marker().col() + 1 };
            let fault = match error.kind() {
                ErrorKind::RecursionLimitExceeded => Fault::TooDeep,
                _ => Fault::Syntax(error.info()),
            };
            Error { fault, position: Some(position) }
        })
    }

    /// The next event, where the grammar has one.
    fn needed(&mut self) -> Result<(Event<'t>, Span), Error> {
        let end = Error { fault: Fault::Syntax("the document ends too early".to_owned()), position: None };
        self.next()?.ok_or(end)
    }

    fn node(&mut self, event: Event<'t>, span: Span, depth: usize) -> Result<Node, Error> {
        let before = self.weight;
        let failed = |fault| Error { fault, position: Some(position(&span)) };
        let anchor = event.anchor_id();
        let node = match event {
            Event::Alias(anchor) => {
                let (node, weight) = self.anchors.get(&anchor).ok_or_else(|| failed(Fault::RecursiveAlias))?;
                let (node, weight) = (node.clone(), *weight);
                self.charge(weight).map_err(failed)?;
                return Ok(node);
            }
            Event::Scalar(text, style, _, tag) => {
                self.charge(Weight { nodes: 1, text_bytes: text.len() }).map_err(failed)?;
                scalar_node(&text, style, tag.as_deref()).map_err(failed)?
            }
            Event::SequenceStart(_, _, tag) => {
                check_tag(tag.as_deref(), "seq").and_then(|()| self.enter(depth)).map_err(failed)?;
                self.list(depth + 1)?
            }
            Event::MappingStart(_, _, tag) => {
                check_tag(tag.as_deref(), "map").and_then(|()| self.enter(depth)).map_err(failed)?;
                self.map(depth + 1)?
            }
            _ => return Err(failed(Fault::Syntax("a value is missing".to_owned()))),
        };
        if let Some(anchor) = anchor {
            let weight = Weight {
                nodes: self.weight.nodes - before.nodes,
                text_bytes: self.weight.text_bytes - before.text_bytes,
            };
            self.charge(weight).map_err(failed)?;
            self.anchors.insert(anchor, (node.clone(), weight));
        }
        Ok(node)
    }

    fn enter(&mut self, depth: usize) -> Result<(), Fault> {
        if depth >= MAX_DEPTH {
            return Err(Fault::TooDeep);
        }
        self.charge(Weight { nodes: 1, text_bytes: 0 })
    }

    fn charge(&mut self, weight: Weight) -> Result<(), Fault> {
        self.weight.nodes += weight.nodes;
        self.weight.text_bytes += weight.text_bytes;
        if self.weight.nodes > MAX_NODES {
            Err(Fault::TooManyNodes)
        } else if self.weight.text_bytes > MAX_TEXT_BYTES {
            Err(Fault::TooMuchText)
        } else {
            Ok(())
        }
    }

    fn list(&mut self, depth: usize) -> Result<Node, Error> {
        let mut items = Vec::new();
        loop {
            match self.needed()? {
                (Event::SequenceEnd, _) => return Ok(Node::List(items)),
                (event, span) => items.push(self.node(event, span, depth)?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Node, Error> {
        let mut own = Map::default();
        let mut merged = Map::default();
        loop {
            let (event, key_span) = self.needed()?;
            if matches!(event, Event::MappingEnd) {
                break;
            }
            let is_merge = matches!(&event, Event::Scalar(text, ScalarStyle::Plain, _, None) if text == "<<");
            let key = self.node(event, key_span, depth)?;
            let (event, span) = self.needed()?;
            let value = self.node(event, span, depth)?;
            let merge_position = Some(position(&span));
            if is_merge {
                merge(&mut merged, value).map_err(|fault| Error { fault, position: merge_position })?;
            } else {
                let key = key_of(key).map_err(|fault| Error { fault, position: Some(position(&key_span)) })?;
                own.insert(key, value);
            }
        }
        if merged.is_empty() {
            return Ok(Node::Map(own));
        }
        for (key, value) in own {
            merged.insert(key, value);
        }
        Ok(Node::Map(merged))
    }
}

fn scalar_node(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Node, Fault> {
    match tag {
        None if style == ScalarStyle::Plain => Ok(scalar::plain(text)),
        None => Ok(Node::Text(text.to_owned())),
        Some(tag) if is_non_specific(tag) => Ok(scalar::plain(text)),
        Some(tag) => match core_name(tag)?.as_str() {
            name @ ("str" | "timestamp" | "null" | "bool" | "int" | "float" | "seq" | "map") => {
                scalar::tagged(name, text).ok_or_else(|| Fault::WrongTag(name.to_owned()))
            }
            _ => Err(Fault::UnknownTag(tag.original())),
        },
    }
}

/// A list may have the tag `!!seq` and a map `!!map`.
fn check_tag(tag: Option<&Tag>, wanted: &str) -> Result<(), Fault> {
    let Some(tag) = tag.filter(|tag| !is_non_specific(tag)) else {
        return Ok(());
    };
    match core_name(tag)? {
        name if name == wanted => Ok(()),
        name if matches!(name.as_str(), "str" | "null" | "bool" | "int" | "float" | "seq" | "map" | "timestamp") => {
            Err(Fault::WrongTag(name))
        }
        _ => Err(Fault::UnknownTag(tag.original())),
    }
}

/// The tag `!`: PyYAML reads such a scalar, quoted or not, as if it were plain.
fn is_non_specific(tag: &Tag) -> bool {
    tag.original() == "!"
}

fn core_name(tag: &Tag) -> Result<String, Fault> {
    let name = tag.suffix_in_namespace(CORE_TAGS).map(|name| name.into_owned());
    name.ok_or_else(|| Fault::UnknownTag(tag.original()))
}

fn key_of(node: Node) -> Result<Key, Fault> {
    match node {
        Node::Text(text) => Ok(Key::Text(text)),
        Node::Null => Ok(Key::Other("nothing", "null".to_owned())),
        Node::Boolean(value) => Ok(Key::Other("boolean", value.to_string())),
        Node::Integer(value) => Ok(Key::Other("number", value.to_string())),
        Node::Float(value) => Ok(Key::Other("number", float::repr(value))),
        Node::List(_) | Node::Map(_) => Err(Fault::Key(node.kind())),
    }
}

/// Adds what a `<<` names. Of several maps in one `<<` the first wins, of several `<<` the last.
fn merge(merged: &mut Map, value: Node) -> Result<(), Fault> {
    let maps = match value {
        Node::Map(map) => vec![map],
        Node::List(items) => items
            .into_iter()
            .map(|item| {
                let kind = item.kind();
                item.into_map().ok_or(Fault::Merge(kind))
            })
            .collect::<Result<Vec<_>, _>>()?,
        other => return Err(Fault::Merge(other.kind())),
    };
    for map in maps.into_iter().rev() {
        for (key, value) in map {
            merged.insert(key, value);
        }
    }
    Ok(())
}
