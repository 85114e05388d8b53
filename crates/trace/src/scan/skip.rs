//! Passing over a list or an object of any depth, without recursion, and in pieces where the text comes in pieces.

use super::fault::{Fault, FaultKind, Scan};
use super::{Kind, Scanner};

/// The way through a list or object. It can be taken up again after [`FaultKind::End`] once more bytes are there.
#[derive(Debug, Clone)]
pub(crate) struct Skip {
    next: Next,
    depth: usize,
    limit: usize,
    /// One bit per open bracket, the innermost lowest: 1 for objects. The innermost 64.
    objects: u64,
    /// The same for those further out, in words of 64.
    outer: Vec<u64>,
    /// Where to go on.
    at: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Value,
    FirstKey,
    FirstElement,
    Key,
    Separator,
}

impl Skip {
    pub(crate) fn new() -> Skip {
        Skip::below(0)
    }

    /// The same for a value that stands that many levels deep, and so may itself be nested that much less.
    pub(super) fn below(levels: usize) -> Skip {
        Skip {
            next: Next::Value,
            depth: 0,
            limit: Scanner::MAX_DEPTH.saturating_sub(levels),
            objects: 0,
            outer: Vec::new(),
            at: 0,
        }
    }

    /// Where [`Skip::run`] has come to, also after an error.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// Passes over the value at the scanner's position, or over what is left of it.
    pub(crate) fn run(&mut self, scanner: &mut Scanner<'_>) -> Scan<()> {
        loop {
            self.at = scanner.at;
            match self.next {
                Next::Value => self.value(scanner)?,
                Next::FirstKey if scanner.peek() == Some(b'}') => self.close(scanner),
                Next::FirstKey | Next::Key => {
                    scanner.key_span()?;
                    self.next = Next::Value;
                    continue;
                }
                Next::FirstElement if scanner.peek() == Some(b']') => self.close(scanner),
                Next::FirstElement => {
                    if scanner.peek().is_none() {
                        return scanner.fault(FaultKind::End);
                    }
                    self.next = Next::Value;
                    continue;
                }
                Next::Separator => self.separator(scanner)?,
            }
            if self.depth == 0 {
                return Ok(());
            }
            scanner.space();
        }
    }

    #[inline(always)]
    fn value(&mut self, scanner: &mut Scanner<'_>) -> Scan<()> {
        match scanner.peek() {
            Some(b'"') => {
                scanner.at += 1;
                scanner.text_span()?;
                self.next = Next::Separator;
            }
            Some(b'{') => self.open(scanner, true)?,
            Some(b'[') => self.open(scanner, false)?,
            _ => {
                let span = scanner.scalar_span()?;
                // A number that touches the end of the bytes may go on behind it.
                if span.kind != Kind::Null && scanner.peek().is_none() {
                    return scanner.fault(FaultKind::End);
                }
                self.next = Next::Separator;
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn separator(&mut self, scanner: &mut Scanner<'_>) -> Scan<()> {
        let object = self.objects & 1 == 1;
        match (scanner.peek(), object) {
            (Some(b','), _) => {
                scanner.at += 1;
                self.next = if object { Next::Key } else { Next::Value };
            }
            (Some(b'}'), true) | (Some(b']'), false) => self.close(scanner),
            (_, true) => return scanner.fault(FaultKind::ExpectedCommaOrBrace),
            (_, false) => return scanner.fault(FaultKind::ExpectedCommaOrBracket),
        }
        Ok(())
    }

    #[inline(always)]
    fn open(&mut self, scanner: &mut Scanner<'_>, object: bool) -> Scan<()> {
        if self.depth == self.limit {
            return Err(Fault { at: scanner.at, kind: FaultKind::Depth });
        }
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.outer.push(self.objects);
        }
        self.objects = self.objects << 1 | u64::from(object);
        self.depth += 1;
        self.next = if object { Next::FirstKey } else { Next::FirstElement };
        scanner.at += 1;
        Ok(())
    }

    #[inline(always)]
    fn close(&mut self, scanner: &mut Scanner<'_>) {
        scanner.at += 1;
        self.depth -= 1;
        self.objects >>= 1;
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.objects = self.outer.pop().unwrap_or_default();
        }
        self.next = Next::Separator;
    }
}
