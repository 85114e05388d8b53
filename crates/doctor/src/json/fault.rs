//! Where a text stops being JSON, and where it is JSON again.

/// Where a text stops being JSON, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) at: usize,
    pub(super) kind: FaultKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FaultKind {
    /// The bytes end; there may be more.
    End,
    /// They are not JSON.
    Bad(&'static str),
}

impl Fault {
    pub(super) fn end<T>(at: usize) -> Result<T, Fault> {
        Err(Fault { at, kind: FaultKind::End })
    }

    pub(super) fn bad<T>(at: usize, reason: &'static str) -> Result<T, Fault> {
        Err(Fault { at, kind: FaultKind::Bad(reason) })
    }

    pub(super) fn reason(&self) -> &'static str {
        match self.kind {
            FaultKind::End => "the text ends too early",
            FaultKind::Bad(reason) => reason,
        }
    }
}

/// `at` or the first position behind it that holds no whitespace.
pub(super) fn behind_space(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\n' | b'\r') = bytes.get(at) {
        at += 1;
    }
    at
}

/// What a search found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Search {
    /// It begins here.
    Found(usize),
    /// It is not there. It may begin at this position if more bytes follow.
    NotYet(usize),
}

/// Keys that an event begins with.
const FIRST_KEYS: [&[u8]; 4] = [b"ph", b"name", b"cat", b"pid"];

/// The `{` of the first event behind another one.
pub(super) fn next_event(bytes: &[u8], from: usize) -> Search {
    let mut at = from;
    while let Some(brace) = bytes.get(at..).and_then(|rest| memchr::memchr(b'}', rest)) {
        let end = at + brace;
        match event_behind(bytes, end) {
            Some(Ok(start)) => return Search::Found(start),
            Some(Err(())) => return Search::NotYet(end),
            None => at = end + 1,
        }
    }
    Search::NotYet(bytes.len())
}

/// Whether an event follows the `}`: where it begins; `Err` where the bytes end before that shows.
fn event_behind(bytes: &[u8], end: usize) -> Option<Result<usize, ()>> {
    let comma = behind_space(bytes, end + 1);
    let start = behind_space(bytes, comma + 1);
    let quote = behind_space(bytes, start + 1);
    for (at, wanted) in [(comma, b','), (start, b'{'), (quote, b'"')] {
        match bytes.get(at) {
            None => return Some(Err(())),
            Some(byte) if *byte != wanted => return None,
            Some(_) => {}
        }
    }
    let rest = bytes.get(quote + 1..).unwrap_or_default();
    let Some(length) = memchr::memchr(b'"', rest.get(..5).unwrap_or(rest)) else {
        return if rest.len() < 5 { Some(Err(())) } else { None };
    };
    FIRST_KEYS.contains(&&rest[..length]).then_some(Ok(start))
}

/// Behind the `[` of `"traceEvents": [`.
pub(super) fn events_list(bytes: &[u8], from: usize) -> Search {
    const KEY: &[u8] = b"\"traceEvents\"";
    let rest = bytes.get(from..).unwrap_or_default();
    for place in memchr::memmem::find_iter(rest, KEY) {
        let colon = behind_space(bytes, from + place + KEY.len());
        let bracket = behind_space(bytes, colon + 1);
        match (bytes.get(colon), bytes.get(bracket)) {
            (Some(b':'), Some(b'[')) => return Search::Found(bracket + 1),
            (None, _) | (Some(b':'), None) => return Search::NotYet(from + place),
            _ => {}
        }
    }
    Search::NotYet(bytes.len().saturating_sub(KEY.len()).max(from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_event_is_found() {
        assert_eq!(next_event(b"xx},{\"name\":1", 0), Search::Found(4));
        assert_eq!(next_event(b"} , {\"a\":1},\n{ \"ph\":", 0), Search::Found(13));
        assert_eq!(next_event(b"} , {\"a\":1} {\"ph\"", 0), Search::NotYet(17));
        assert_eq!(next_event(b"1},{\"na", 0), Search::NotYet(1));
        assert_eq!(next_event(b"1}  ", 0), Search::NotYet(1));
    }

    #[test]
    fn the_list_is_found() {
        assert_eq!(events_list(b"{\"x\" 1, \"traceEvents\" : [{", 1), Search::Found(25));
        assert_eq!(events_list(b"\"traceEvents\"", 0), Search::NotYet(0));
    }
}
