//! Paths of values in a document, and the lines on which they stand.

use std::fmt;

use granit_parser::{Event, Parser, StrInput};

use super::Position;
use super::compose::{parser, position, without_byte_order_mark};

/// One step into a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The value of a key.
    Key(String),
    /// An item of a list, from 0.
    Item(usize),
}

/// The steps from the top of a document to a value; shown as `rules[0].pattern`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodePath(Vec<Step>);

impl NodePath {
    /// The path of these steps, the outermost first.
    pub fn new(steps: impl IntoIterator<Item = Step>) -> NodePath {
        NodePath(steps.into_iter().collect())
    }

    /// The steps from the top.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// Where in `text` the value at this path begins, or the innermost value around it that can be found.
    ///
    /// ```
    /// use perfdb_pycompat::yaml::{NodePath, Step};
    ///
    /// let path = NodePath::new([Step::Key("rules".into()), Step::Item(1), Step::Key("op".into())]);
    /// let position = path.position_in("rules:\n- {op: a}\n- op: b\n").unwrap();
    /// assert_eq!((path.to_string().as_str(), position.line, position.column), ("rules[1].op", 3, 7));
    /// ```
    pub fn position_in(&self, text: &str) -> Option<Position> {
        let mut walk = Walk { parser: parser(without_byte_order_mark(text)), found: None };
        // An error ends the walk; what it has found until then stands.
        walk.document(&self.0);
        walk.found
    }
}

impl fmt::Display for NodePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if at == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Item(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

struct Walk<'t> {
    parser: Parser<'t, StrInput<'t>>,
    found: Option<Position>,
}

impl<'t> Walk<'t> {
    fn document(&mut self, steps: &[Step]) -> Option<()> {
        loop {
            if matches!(self.next()?, Event::DocumentStart(..)) {
                return self.value(steps);
            }
        }
    }

    fn next(&mut self) -> Option<Event<'t>> {
        Some(self.parser.next_event()?.ok()?.0)
    }

    /// Goes into the value that comes next.
    fn value(&mut self, steps: &[Step]) -> Option<()> {
        let (event, span) = self.parser.next_event()?.ok()?;
        self.found = Some(position(&span));
        match (event, steps.split_first()) {
            (Event::SequenceStart(..), Some((Step::Item(index), rest))) => {
                for _ in 0..*index {
                    self.skip()?;
                }
                self.value(rest)
            }
            (Event::MappingStart(..), Some((Step::Key(wanted), rest))) => loop {
                match self.next()? {
                    Event::MappingEnd => return Some(()),
                    // Of equal keys the last one counts.
                    Event::Scalar(key, ..) if key == wanted.as_str() => self.value(rest)?,
                    event => {
                        self.finish(event)?;
                        self.skip()?;
                    }
                }
            },
            (event, _) => self.finish(event),
        }
    }

    fn skip(&mut self) -> Option<()> {
        let event = self.next()?;
        self.finish(event)
    }

    /// Goes to the end of the value that begins with this event.
    fn finish(&mut self, event: Event<'t>) -> Option<()> {
        let mut depth = usize::from(matches!(event, Event::SequenceStart(..) | Event::MappingStart(..)));
        while depth > 0 {
            match self.next()? {
                Event::SequenceStart(..) | Event::MappingStart(..) => depth += 1,
                Event::SequenceEnd | Event::MappingEnd => depth -= 1,
                _ => {}
            }
        }
        Some(())
    }
}
