//! Own times of classes: each instant of computing belongs to the kernel that started first; collectives own what no kernel
//! that computes covers.

use std::collections::VecDeque;

use crate::time::Picoseconds;

/// A kernel on one device.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) start: Picoseconds,
    pub(super) end: Picoseconds,
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

/// Tells who owns the busy time of a device: what collectives own by start, and what others own by start. `order` has the
/// numbers of the kernels by start. Where it is known that none communicates, they are looked at once.
pub(super) fn each_owned(
    order: &[u32],
    span: impl Fn(u32) -> Span,
    some_communicate: bool,
    mut tell: impl FnMut(Owned),
) {
    let first_come = |communicates| first_come(order, &span, communicates);
    if !some_communicate {
        first_come(false).for_each(tell);
        return;
    }
    let mut computing = first_come(false);
    // What covers the collective that is looked at, and may cover the next one.
    let mut covers: VecDeque<Owned> = VecDeque::new();
    for piece in first_come(true) {
        let mut from = piece.start;
        while covers.front().is_some_and(|cover| cover.end <= from) {
            covers.pop_front();
        }
        while covers.back().is_none_or(|last| last.start < piece.end) {
            let Some(next) = computing.find(|cover| cover.end > from) else { break };
            covers.push_back(next);
        }
        for cover in covers.iter().take_while(|cover| cover.start < piece.end) {
            if cover.start > from {
                tell(Owned { start: from, end: cover.start, class: piece.class });
            }
            from = from.max(cover.end);
        }
        if from < piece.end {
            tell(Owned { start: from, end: piece.end, class: piece.class });
        }
    }
    first_come(false).for_each(tell);
}

/// Pieces of those that communicate, or of those that do not; they do not overlap, and stand by start.
fn first_come(order: &[u32], span: impl Fn(u32) -> Span, communicates: bool) -> impl Iterator<Item = Owned> {
    let mut until = Picoseconds::MIN;
    order.iter().map(move |number| span(*number)).filter(move |span| span.communicates == communicates).filter_map(
        move |span| {
            let start = span.start.max(until);
            (span.end > start).then(|| {
                until = span.end;
                Owned { start, end: span.end, class: span.class }
            })
        },
    )
}

#[cfg(test)]
mod tests {
    use super::{Owned, Span, each_owned};

    #[test]
    fn collectives_own_what_no_kernel_covers() {
        let span = |start, end, class| Span { start, end, class, communicates: class == 9 };
        let spans = [span(0, 40, 9), span(10, 20, 1), span(15, 30, 2), span(35, 50, 9)];
        let mut found = Vec::new();
        each_owned(&[0, 1, 2, 3], |number| spans[number as usize], true, |piece| found.push(piece));
        found.sort_by_key(|piece| piece.start);
        let piece = |start, end, class| Owned { start, end, class };
        let wanted = [piece(0, 10, 9), piece(10, 20, 1), piece(20, 30, 2), piece(30, 40, 9), piece(40, 50, 9)];
        assert_eq!(found, wanted);
    }
}
