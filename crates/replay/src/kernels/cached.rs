//! Keys and values that attention reads from tensors: plain, shared by heads, or in the blocks of a cache.

use std::ops::Range;

use crate::kernels::attention::Source;
use crate::kernels::element::Element;

/// The part of each line of a tensor that belongs to one head.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a, E> {
    values: &'a [E],
    /// Elements from one line to the next.
    stride: usize,
    /// Where the part begins within a line.
    offset: usize,
    /// Elements of the part.
    size: usize,
}

impl<'a, E> Part<'a, E> {
    /// Lines of `size` elements, used whole.
    pub fn whole(values: &'a [E], size: usize) -> Self {
        Self { values, stride: size, offset: 0, size }
    }

    /// Part number `at` of lines of `parts` parts of `size` elements.
    pub(crate) fn of_line(values: &'a [E], parts: usize, at: usize, size: usize) -> Self {
        Self { values, stride: parts * size, offset: at * size, size }
    }

    fn line(&self, line: usize) -> &'a [E] {
        let start = line * self.stride + self.offset;
        &self.values[start..start + self.size]
    }
}

/// One head's run of keys and values. A key is its parts side by side.
#[derive(Debug)]
pub struct Cached<'a, E, L> {
    /// Parts of a key.
    pub key: &'a [Part<'a, E>],
    pub value: &'a Part<'a, E>,
    /// The line that holds a position.
    pub line: L,
}

impl<E: Element, L: Fn(usize) -> usize + Sync> Source<E::Wide> for Cached<'_, E, L> {
    fn key_size(&self) -> usize {
        self.key.iter().map(|part| part.size).sum()
    }

    fn value_size(&self) -> usize {
        self.value.size
    }

    fn load_keys(&self, positions: Range<usize>, to: &mut [E::Wide]) {
        for (position, mut to) in positions.zip(to.chunks_exact_mut(self.key_size().max(1))) {
            let line = (self.line)(position);
            for part in self.key {
                let (head, rest) = to.split_at_mut(part.size);
                E::widen_slice(part.line(line), head);
                to = rest;
            }
        }
    }

    fn load_values(&self, positions: Range<usize>, to: &mut [E::Wide]) {
        for (position, to) in positions.zip(to.chunks_exact_mut(self.value.size.max(1))) {
            E::widen_slice(self.value.line((self.line)(position)), to);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_lines_side_by_side() {
        let latent: Vec<f32> = (0..12).map(|i| i as f32).collect();
        let rope = [100.0f32, 101.0, 102.0];
        let parts = [Part::of_line(&latent, 2, 1, 2), Part::whole(&rope, 1)];
        let source = Cached { key: &parts, value: &parts[0], line: |position| 2 - position };
        let (mut keys, mut values) = ([0.0f32; 6], [0.0f32; 2]);
        source.load_keys(0..2, &mut keys);
        assert_eq!(keys, [10.0, 11.0, 102.0, 6.0, 7.0, 101.0]);
        source.load_values(2..3, &mut values);
        assert_eq!(values, [2.0, 3.0]);
    }
}
