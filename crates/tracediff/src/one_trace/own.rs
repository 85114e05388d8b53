//! Own times of classes: each instant of computing belongs to the kernel that started first; collectives own what no kernel
//! that computes covers.

use crate::time::Picoseconds;

/// A kernel on one device.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) start: Picoseconds,
    pub(super) end: Picoseconds,
    /// Position in the file, which decides between equal starts.
    pub(super) order: u32,
    pub(super) class: u32,
    pub(super) communicates: bool,
}

/// A piece of time, and the class that owns it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Owned {
    pub(super) start: Picoseconds,
    pub(super) end: Picoseconds,
    pub(super) class: u32,
}

/// Who owns the busy time of a device.
pub(super) fn owned(spans: &mut [Span]) -> Vec<Owned> {
    spans.sort_unstable_by_key(|span| (span.start, span.order));
    let mut computing = first_come(spans.iter().filter(|span| !span.communicates));
    let mut found = Vec::new();
    let mut behind = 0;
    for piece in first_come(spans.iter().filter(|span| span.communicates)) {
        let mut from = piece.start;
        while computing.get(behind).is_some_and(|cover| cover.end <= from) {
            behind += 1;
        }
        for cover in computing[behind..].iter().take_while(|cover| cover.start < piece.end) {
            if cover.start > from {
                found.push(Owned { start: from, end: cover.start, class: piece.class });
            }
            from = from.max(cover.end);
        }
        if from < piece.end {
            found.push(Owned { start: from, end: piece.end, class: piece.class });
        }
    }
    found.append(&mut computing);
    found
}

/// Pieces that do not overlap, by start.
fn first_come<'s>(spans: impl Iterator<Item = &'s Span>) -> Vec<Owned> {
    let mut until = Picoseconds::MIN;
    let mut pieces = Vec::new();
    for span in spans {
        let start = span.start.max(until);
        if span.end > start {
            pieces.push(Owned { start, end: span.end, class: span.class });
            until = span.end;
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::{Owned, Span, owned};

    #[test]
    fn collectives_own_what_no_kernel_covers() {
        let span = |start, end, class| Span { start, end, order: 0, class, communicates: class == 9 };
        let mut spans = [span(10, 20, 1), span(0, 40, 9), span(15, 30, 2), span(35, 50, 9)];
        let mut found = owned(&mut spans);
        found.sort_by_key(|piece| piece.start);
        let piece = |start, end, class| Owned { start, end, class };
        let wanted = [piece(0, 10, 9), piece(10, 20, 1), piece(20, 30, 2), piece(30, 40, 9), piece(40, 50, 9)];
        assert_eq!(found, wanted);
    }
}
