//! Memory that bytes are read into again and again.

use super::Positioned;
use std::io::{self, Read};

/// Bytes, with room in front of them and behind them.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    /// What is outside of `start..end` is left from before.
    memory: Vec<u8>,
    start: usize,
    end: usize,
}

impl Buffer {
    /// What was read.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.end]
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        (self.start, self.end) = (0, 0);
    }

    /// Forgets everything, and leaves room in front of up to `count` bytes that follow.
    pub(super) fn clear_with_front(&mut self, room: usize, count: usize) -> io::Result<()> {
        self.clear();
        self.reserve(room + count)?;
        self.room(room + count);
        (self.start, self.end) = (room, room);
        Ok(())
    }

    /// Forgets the first `count` bytes.
    pub(crate) fn drop_front(&mut self, count: usize) {
        self.start = self.end.min(self.start + count);
    }

    /// Forgets what is behind the first `count` bytes.
    pub(crate) fn drop_back(&mut self, count: usize) {
        self.end = self.end.min(self.start + count);
    }

    /// Puts bytes in front of all others.
    pub(crate) fn put_front(&mut self, front: &[u8]) {
        match self.start.checked_sub(front.len()) {
            Some(start) => {
                self.memory[start..self.start].copy_from_slice(front);
                self.start = start;
            }
            None => {
                self.memory = [front, self.bytes()].concat();
                (self.start, self.end) = (0, self.memory.len());
            }
        }
    }

    /// Puts bytes behind all others.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.room(bytes.len()).copy_from_slice(bytes);
        self.end += bytes.len();
    }

    /// Puts a block behind all others, and returns what memory is left over. The bytes that are here move in front of the block where it
    /// has room for them: mostly they are few.
    pub(super) fn append(&mut self, mut block: Buffer) -> Buffer {
        if self.bytes().len() > block.start {
            self.add(block.bytes());
            return block;
        }
        block.put_front(self.bytes());
        std::mem::replace(self, block)
    }

    /// Adds up to `count` bytes from `position` on, fewer only at the end; returns how many.
    pub(crate) fn read_at(&mut self, from: &Positioned, position: u64, count: usize) -> io::Result<usize> {
        let left = usize::try_from(from.size().saturating_sub(position)).unwrap_or(usize::MAX);
        let count = count.min(left);
        self.reserve(count)?;
        from.read_exact(position, self.room(count))?;
        self.end += count;
        Ok(count)
    }

    /// Adds up to `count` bytes of a stream, fewer only at its end or before a fault; returns how many, and the fault.
    pub(super) fn read_from(&mut self, from: &mut dyn Read, count: usize) -> (usize, Option<io::Error>) {
        if let Err(error) = self.reserve(count) {
            return (0, Some(error));
        }
        let mut added = 0;
        while added < count {
            match from.read(self.room(count - added)) {
                Ok(0) => break,
                Ok(more) => {
                    added += more;
                    self.end += more;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return (added, Some(error)),
            }
        }
        (added, None)
    }

    /// Takes memory for as many bytes more; an error where there is none.
    fn reserve(&mut self, count: usize) -> io::Result<()> {
        self.make_way(count);
        let more = (self.end + count).saturating_sub(self.memory.len());
        Ok(self.memory.try_reserve(more)?)
    }

    fn room(&mut self, count: usize) -> &mut [u8] {
        self.make_way(count);
        let end = self.end + count;
        if self.memory.len() < end {
            self.memory.resize(end, 0);
        }
        &mut self.memory[self.end..end]
    }

    /// Moves what is here to the front where the room behind it is too small.
    fn make_way(&mut self, count: usize) {
        if self.memory.len() < self.end + count {
            self.memory.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_takes_what_is_there_in_front_of_it_or_is_copied_behind() {
        for room in 0..6 {
            let mut block = Buffer::default();
            block.clear_with_front(room, 5).expect("memory");
            block.add(b"block");
            let mut buffer = Buffer::default();
            buffer.add(b"gone...");
            buffer.drop_front(4);
            let left = buffer.append(block);
            assert_eq!(buffer.bytes(), b"...block");
            assert_eq!(left.bytes() == b"block", room < 3, "room for {room}");
        }
    }

    #[test]
    fn bytes_are_those_between_what_is_dropped() {
        let mut buffer = Buffer::default();
        assert_eq!(buffer.read_from(&mut &b"0123456789"[..], 8).0, 8);
        buffer.drop_front(3);
        buffer.drop_back(4);
        assert_eq!(buffer.bytes(), b"3456");
        buffer.add(b"abcd");
        buffer.put_front(b"2");
        assert_eq!(buffer.bytes(), b"23456abcd");
        buffer.put_front(b"0123456789");
        buffer.drop_front(100);
        assert_eq!(buffer.bytes(), b"");
    }
}
