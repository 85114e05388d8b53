//! A trace as it should be written, from one that is damaged or odd, in one pass.

mod recovery;
mod write;

use perfdb_trace::source::{LARGEST_VALUE_BYTES, too_long};
use std::hash::{Hash, Hasher};
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use super::fault::{Fault, FaultKind, behind_space};
use super::tally::Tally;
use super::value::{Purpose, ValueMender, unescaped};

/// Bytes that are read at once.
const READ: usize = 1 << 18;

/// Changes an event; false if it is to be left out.
pub(crate) type Fix = Box<dyn FnMut(&mut Vec<u8>) -> bool + Send>;

/// What came of a piece of text, what it is when fixed, and what was odd about it.
type Mended<T> = Result<(T, Vec<u8>, Tally), Fault>;

/// What to do beside fixing the text.
pub(crate) enum Plan {
    /// The result is read on the spot.
    Check,
    /// The result is a file to keep.
    Repair {
        /// Members at the top to leave out.
        dropped_members: FxHashSet<usize>,
        /// Fixes what is in an event.
        fix: Fix,
    },
}

/// The tally of a mender, there once everything has been read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Progress(Arc<Mutex<Tally>>);

impl Progress {
    pub(crate) fn tally(&self) -> Tally {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Reads text that should be a trace, and is one when read from here.
pub(crate) struct Mender<R> {
    input: R,
    plan: Plan,
    progress: Progress,
    buffer: Vec<u8>,
    /// Position in the buffer of what comes next.
    at: usize,
    /// Position of the buffer in the file.
    base: u64,
    input_ended: bool,
    state: State,
    bare_list: bool,
    events_seen: bool,
    members: FxHashMap<Vec<u8>, (usize, u64)>,
    member_count: usize,
    /// Members that were written.
    written_members: usize,
    /// Whether an event was written since the list began, and what stands in front of the next one.
    first_event: bool,
    separator: Vec<u8>,
    tally: Tally,
    out: Vec<u8>,
    out_at: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    FirstMember,
    Member,
    AfterMember,
    FirstEvent,
    Event,
    AfterEvent,
    Trailing,
    Done,
}

impl<R: Read> Mender<R> {
    pub(crate) fn new(input: R, plan: Plan) -> (Mender<R>, Progress) {
        let progress = Progress::default();
        let mender = Mender {
            input,
            plan,
            progress: progress.clone(),
            buffer: Vec::new(),
            at: 0,
            base: 0,
            input_ended: false,
            state: State::Start,
            bare_list: false,
            events_seen: false,
            members: FxHashMap::default(),
            member_count: 0,
            written_members: 0,
            first_event: true,
            separator: Vec::new(),
            tally: Tally::default(),
            out: Vec::new(),
            out_at: 0,
        };
        (mender, progress)
    }

    /// Takes in more; what is done with goes. False at the end.
    fn more(&mut self) -> io::Result<bool> {
        if self.input_ended {
            return Ok(false);
        }
        self.buffer.drain(..self.at);
        self.base += self.at as u64;
        if self.buffer.len().max(self.separator.len()) >= LARGEST_VALUE_BYTES {
            return Err(too_long(self.base));
        }
        self.at = 0;
        // Long events are looked at again from their start, so the steps grow.
        let wanted = READ.max(self.buffer.len()).min(LARGEST_VALUE_BYTES - self.buffer.len());
        let got = (&mut self.input).take(wanted as u64).read_to_end(&mut self.buffer)?;
        self.input_ended = got == 0;
        Ok(!self.input_ended)
    }

    /// The next byte that is no space, with the space in front of it passed to `space`.
    fn peek(&mut self, keep_space: bool) -> io::Result<Option<u8>> {
        loop {
            let next = behind_space(&self.buffer, self.at);
            if keep_space {
                self.out.extend_from_slice(&self.buffer[self.at..next]);
            } else {
                self.separator.extend_from_slice(&self.buffer[self.at..next]);
            }
            self.at = next;
            if let Some(byte) = self.buffer.get(self.at) {
                return Ok(Some(*byte));
            }
            if !self.more()? {
                return Ok(None);
            }
        }
    }

    /// Parses with ever more bytes until the outcome does not depend on the rest.
    fn whole<T>(&mut self, parse: impl Fn(&mut ValueMender<'_>) -> Result<T, Fault>) -> io::Result<Mended<T>> {
        let purpose = match self.plan {
            Plan::Check => Purpose::Check,
            Plan::Repair { .. } => Purpose::Repair,
        };
        loop {
            let mut mender = ValueMender {
                bytes: &self.buffer[self.at..],
                base: self.base + self.at as u64,
                purpose,
                out: Vec::new(),
                tally: Tally::default(),
            };
            match parse(&mut mender) {
                Ok(result) => return Ok(Ok((result, mender.out, mender.tally))),
                Err(Fault { kind: FaultKind::End, .. }) if !self.input_ended => {
                    self.more()?;
                }
                Err(fault) => return Ok(Err(fault)),
            }
        }
    }

    fn step(&mut self) -> io::Result<()> {
        match self.state {
            State::Start => self.start(),
            State::FirstMember | State::Member => self.member(),
            State::AfterMember => self.after_member(),
            State::FirstEvent | State::Event => self.event(),
            State::AfterEvent => self.after_event(),
            State::Trailing => self.trailing(),
            State::Done => Ok(()),
        }
    }

    fn start(&mut self) -> io::Result<()> {
        match self.peek(true)? {
            Some(byte @ (b'{' | b'[')) => {
                self.at += 1;
                self.out.push(byte);
                self.bare_list = byte == b'[';
                self.state = if self.bare_list { State::FirstEvent } else { State::FirstMember };
                Ok(())
            }
            _ => self.finish(),
        }
    }

    fn member(&mut self) -> io::Result<()> {
        self.separator.clear();
        let byte = self.peek(false)?;
        if byte == Some(b'}') && self.state == State::FirstMember {
            return self.close_object();
        }
        let key = match self.whole(|mender| match mender.bytes.first() {
            Some(b'"') => {
                let end = mender.value(0, 0)?;
                let colon = behind_space(mender.bytes, end);
                match mender.bytes.get(colon) {
                    Some(b':') => {
                        let value = behind_space(mender.bytes, colon + 1);
                        if value == mender.bytes.len() { Fault::end(value) } else { Ok((end, value)) }
                    }
                    None => Fault::end(colon),
                    Some(_) => Fault::bad(colon, "a colon is expected"),
                }
            }
            None => Fault::end(0),
            Some(_) => Fault::bad(0, "a key is expected"),
        })? {
            Ok(key) => key,
            Err(fault) => return self.recover(fault),
        };
        let ((key_end, value), mut text, tally) = key;
        text.extend_from_slice(&self.buffer[self.at + key_end..self.at + value]);
        let name = unescaped(self.buffer.get(self.at + 1..self.at + key_end - 1).unwrap_or_default()).into_owned();
        let is_list = self.buffer.get(self.at + value) == Some(&b'[');
        self.at += value;
        let number = self.member_count;
        self.member_count += 1;
        self.tally.join(tally);
        self.tally.top_keys.push(String::from_utf8_lossy(&name).into_owned());
        if name == b"traceEvents" && is_list {
            self.remember(name, number, 0);
            self.at += 1;
            text.push(b'[');
            self.write_member(&text, number);
            self.tally.events = 0;
            self.events_seen = true;
            self.first_event = true;
            self.state = State::FirstEvent;
            return Ok(());
        }
        match self.whole(|mender| mender.value(0, 0))? {
            Ok((end, written, tally)) => {
                self.at += end;
                self.tally.join(tally);
                let mut hasher = FxHasher::default();
                written.hash(&mut hasher);
                self.remember(name, number, hasher.finish() | 1);
                text.extend_from_slice(&written);
                self.write_member(&text, number);
                self.state = State::AfterMember;
                Ok(())
            }
            Err(fault) => self.recover(fault),
        }
    }

    /// Notes a member and whether it replaces another one.
    fn remember(&mut self, name: Vec<u8>, number: usize, hash: u64) {
        if let Some((earlier, before)) = self.members.get(&name)
            && (*before != hash || hash == 0)
        {
            self.tally.replaced_members.push(*earlier);
            *self.tally.duplicate_keys.entry(String::from_utf8_lossy(&name).into_owned()).or_default() += 1;
        }
        self.members.insert(name, (number, hash));
    }

    fn after_member(&mut self) -> io::Result<()> {
        self.separator.clear();
        match self.peek(false)? {
            Some(b',') => {
                self.at += 1;
                self.state = State::Member;
                Ok(())
            }
            Some(b'}') => self.close_object(),
            Some(_) => self.recover(Fault { at: 0, kind: FaultKind::Bad("a comma or a closing brace is expected") }),
            None => self.recover(Fault { at: 0, kind: FaultKind::End }),
        }
    }

    fn event(&mut self) -> io::Result<()> {
        let byte = self.peek(false)?;
        if byte == Some(b']') && self.state == State::FirstEvent {
            self.close_list();
            return Ok(());
        }
        match self.whole(|mender| mender.value(0, 1))? {
            Ok((end, mut text, tally)) => {
                self.at += end;
                self.tally.join(tally);
                self.state = State::AfterEvent;
                if byte != Some(b'{') {
                    self.tally.no_events += 1;
                    return Ok(());
                }
                self.tally.events += 1;
                if let Plan::Repair { fix, .. } = &mut self.plan
                    && !fix(&mut text)
                {
                    return Ok(());
                }
                if !self.is_dropped() {
                    self.write_event(&text);
                }
                Ok(())
            }
            Err(fault) => self.recover(fault),
        }
    }

    fn after_event(&mut self) -> io::Result<()> {
        // What stands in front of an event that was dropped stays for the next one.
        if self.separator.contains(&b',') || self.separator.len() > READ {
            self.separator.clear();
        }
        match self.peek(false)? {
            Some(b',') => {
                self.at += 1;
                self.separator.push(b',');
                self.state = State::Event;
                Ok(())
            }
            Some(b']') => {
                self.close_list();
                Ok(())
            }
            Some(_) => self.recover(Fault { at: 0, kind: FaultKind::Bad("a comma or a closing bracket is expected") }),
            None => self.recover(Fault { at: 0, kind: FaultKind::End }),
        }
    }

    fn trailing(&mut self) -> io::Result<()> {
        if self.peek(true)?.is_none() {
            return self.finish();
        }
        let at = self.base + self.at as u64;
        while self.more()? {
            self.at = self.buffer.len();
        }
        let end = self.base + self.buffer.len() as u64;
        self.tally.trailing = Some((at, end - at));
        self.finish()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.state = State::Done;
        *self.progress.0.lock().unwrap_or_else(PoisonError::into_inner) = std::mem::take(&mut self.tally);
        Ok(())
    }
}

impl<R: Read> Read for Mender<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.out_at == self.out.len() && self.state != State::Done {
            self.out.clear();
            self.out_at = 0;
            self.step()?;
        }
        let waiting = &self.out[self.out_at..];
        let count = waiting.len().min(into.len());
        into[..count].copy_from_slice(&waiting[..count]);
        self.out_at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes of a text that never ends: `beginning`, then `byte` again and again.
    fn read_endless(beginning: &'static str, byte: u8) -> io::Error {
        let (mut mender, _) = Mender::new(beginning.as_bytes().chain(io::repeat(byte)), Plan::Check);
        io::copy(&mut mender, &mut io::sink()).expect_err("an endless value")
    }

    #[test]
    fn values_and_spaces_without_end_are_errors() {
        for (beginning, byte) in [(r#"{"a": ""#, b'x'), ("[", b' ')] {
            let error = read_endless(beginning, byte);
            assert_eq!(error.kind(), io::ErrorKind::FileTooLarge, "{beginning}: {error}");
        }
    }
}
