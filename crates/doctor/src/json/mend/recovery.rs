//! What follows a fault.

use std::io::{self, Read};

use super::{Mender, State};
use crate::json::fault::{Fault, Search, events_list, next_event};
use crate::json::tally::Truncated;

impl<R: Read> Mender<R> {
    /// Goes on at the next event behind a fault, or closes the document.
    pub(super) fn recover(&mut self, fault: Fault) -> io::Result<()> {
        let at = self.base + (self.at + fault.at) as u64;
        self.at = (self.at + fault.at).min(self.buffer.len());
        let in_events = matches!(self.state, State::FirstEvent | State::Event | State::AfterEvent);
        let may_go_on = in_events || !self.events_seen;
        if may_go_on && self.find_event(in_events)? {
            if self.tally.damaged.count == 0 {
                self.tally.reason = fault.reason();
            }
            self.tally.damaged.add(at);
            return Ok(());
        }
        while self.more()? {
            self.at = self.buffer.len();
        }
        let bytes = self.base + self.buffer.len() as u64;
        self.tally.truncated = Some(Truncated { at, bytes, events: self.tally.events });
        if in_events && !self.is_dropped() {
            self.out.push(b']');
        }
        if !self.bare_list {
            self.out.push(b'}');
        }
        self.finish()
    }

    /// Goes in front of the next event; false if there is none.
    fn find_event(&mut self, in_events: bool) -> io::Result<bool> {
        // Behind a fault in front of the list, its begin is looked for.
        let list = !in_events && !self.bare_list;
        loop {
            let search = if list { events_list(&self.buffer, self.at) } else { next_event(&self.buffer, self.at) };
            match search {
                Search::Found(at) => {
                    self.at = at;
                    if list {
                        self.separator.clear();
                        self.write_member(b"\"traceEvents\":[", usize::MAX);
                        self.member_count += 1;
                        self.tally.top_keys.push("traceEvents".to_owned());
                        self.events_seen = true;
                        self.first_event = true;
                        self.state = State::FirstEvent;
                    } else {
                        self.separator = b",".to_vec();
                        self.state = State::Event;
                    }
                    return Ok(true);
                }
                Search::NotYet(at) => {
                    self.at = at;
                    if !self.more()? {
                        return Ok(false);
                    }
                }
            }
        }
    }
}
