//! What a mender writes: members, events and closing brackets, with the separators that belong to them.

use std::io::{self, Read};

use super::{Mender, Plan, State};

impl<R: Read> Mender<R> {
    /// Writes a member with what stands in front of it.
    pub(super) fn write_member(&mut self, text: &[u8], number: usize) {
        if let Plan::Repair { dropped_members, .. } = &self.plan
            && dropped_members.contains(&number)
        {
            return;
        }
        if self.written_members > 0 {
            self.out.push(b',');
        }
        let separator = std::mem::take(&mut self.separator);
        self.out.extend_from_slice(&separator);
        self.out.extend_from_slice(text);
        self.written_members += 1;
    }

    /// Writes an event with what stands in front of it.
    pub(super) fn write_event(&mut self, text: &[u8]) {
        let separator = std::mem::take(&mut self.separator);
        let spaces = separator.iter().filter(|byte| byte.is_ascii_whitespace());
        if self.first_event {
            self.out.extend(spaces);
        } else if separator.iter().filter(|byte| **byte == b',').count() == 1 {
            self.out.extend_from_slice(&separator);
        } else {
            self.out.push(b',');
        }
        self.out.extend_from_slice(text);
        self.first_event = false;
    }

    pub(super) fn close_object(&mut self) -> io::Result<()> {
        let separator = std::mem::take(&mut self.separator);
        self.out.extend_from_slice(&separator);
        self.at += 1;
        self.out.push(b'}');
        self.state = State::Trailing;
        Ok(())
    }

    pub(super) fn close_list(&mut self) {
        // Left over from events that were dropped.
        let separator = std::mem::take(&mut self.separator);
        self.out.extend(separator.iter().filter(|byte| byte.is_ascii_whitespace()));
        self.at += 1;
        if !self.is_dropped() {
            self.out.push(b']');
        }
        self.state = if self.bare_list { State::Trailing } else { State::AfterMember };
    }

    /// Whether the list of events at hand is to be left out: a later one replaces it.
    pub(super) fn is_dropped(&self) -> bool {
        match &self.plan {
            Plan::Repair { dropped_members, .. } => {
                !self.bare_list && self.member_count > 0 && dropped_members.contains(&(self.member_count - 1))
            }
            Plan::Check => false,
        }
    }
}
