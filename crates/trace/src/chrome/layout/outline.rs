//! What stands where in an event.

use crate::chrome::event::Field;
use crate::chrome::form::Form;
use crate::chrome::keys::{Named, WantedArgs, named};
use crate::scan::{Fast, Kind, Span};

/// What a value is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Field(Field),
    /// The member of `args` at this position of those that are wanted.
    Wanted(u8),
    Other,
    /// There is none: the event ends here.
    End,
}

/// A value and what it is for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub(super) role: Role,
    pub(super) value: Span,
}

impl Part {
    pub(super) fn is_text(self) -> bool {
        matches!(self.value.kind, Kind::PlainText | Kind::EscapedText)
    }
}

/// The values of an event and of its `args` in their order, and the places between which they stand.
#[derive(Debug, Clone)]
pub(super) struct Outline {
    /// Where the `{` of the event stands, and the place behind its `}`.
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) parts: Vec<Part>,
    /// Where the `{` of `args` stands, and the place behind its `}`.
    args: Option<(usize, usize)>,
    /// Hash of the keys.
    pub(super) keys: u64,
}

impl Outline {
    /// The outline of a good event whose `{` stands at `start`; `None` where a key has escapes, or `args` is there twice or no object.
    pub(super) fn of(fast: Fast<'_>, start: usize, wanted: &WantedArgs<'_>) -> Option<Outline> {
        let mut form = Form::NEW;
        let mut parts = Vec::new();
        let (mut args, mut open) = (None, None);
        let mut rest = fast.from(start + 1);
        loop {
            rest = fast.space(rest);
            if let [b'}', behind @ ..] = rest {
                rest = behind;
                let end = fast.position(rest);
                let Some(args_start) = open.take() else {
                    return Some(Outline { start, end, parts, args, keys: form.keys() });
                };
                form.bracket();
                args = Some((args_start, end));
                continue;
            }
            if let [b',', behind @ ..] = rest {
                rest = fast.space(behind);
            }
            let key = fast.key(rest)?;
            form.key(key);
            if form.is_odd() {
                return None;
            }
            let value_text = fast.space(key.rest);
            let role = match named(key) {
                _ if open.is_some() => {
                    wanted.position(key).and_then(|at| u8::try_from(at).ok()).map_or(Role::Other, Role::Wanted)
                }
                Named::Field(field) => Role::Field(field),
                Named::Other => Role::Other,
                Named::Args => {
                    let ([b'{', behind @ ..], None) = (value_text, args) else { return None };
                    form.bracket();
                    open = Some(fast.position(value_text));
                    rest = behind;
                    continue;
                }
            };
            let (value, behind) = fast.value(value_text)?;
            rest = behind;
            parts.push(Part { role, value });
        }
    }

    /// Where the brace stands that opens `args`, and the place behind the one that closes it, counted from `from`; 0 for one that is
    /// not between there and `to`.
    pub(super) fn args_between(&self, from: usize, to: usize) -> Option<(u8, u8)> {
        let (open, end) = self.args.unwrap_or((from, from));
        let inside = |at: usize| if (from + 1..=to).contains(&at) { u8::try_from(at - from).ok() } else { Some(0) };
        Some((if open < to { inside(open)? } else { 0 }, inside(end)?))
    }
}
