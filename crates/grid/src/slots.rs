//! Lists of shapes, one per tensor argument of a kernel.

/// The input or output slots of a row. A slot without dimensions is an empty one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Slots {
    dimensions: Vec<i128>,
    /// Where each slot ends in `dimensions`.
    ends: Vec<usize>,
}

impl Slots {
    /// Adds a dimension to the slot that is being built.
    pub(crate) fn push_dimension(&mut self, dimension: i128) {
        self.dimensions.push(dimension);
    }

    /// Finishes the slot that is being built.
    pub(crate) fn end_slot(&mut self) {
        self.ends.push(self.dimensions.len());
    }

    /// Adds a whole slot.
    pub fn push(&mut self, slot: &[i128]) {
        self.dimensions.extend_from_slice(slot);
        self.end_slot();
    }

    /// Removes all slots.
    pub fn clear(&mut self) {
        self.dimensions.clear();
        self.ends.clear();
    }

    /// Becomes equal to `other`, keeping its own memory.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.dimensions.clone_from(&other.dimensions);
        self.ends.clone_from(&other.ends);
    }

    /// Number of slots.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no slot.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The dimensions of each slot.
    pub fn iter(&self) -> impl Iterator<Item = &[i128]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| &self.dimensions[std::mem::replace(&mut start, end)..end])
    }

    /// Adds empty slots until there are `length`.
    pub(crate) fn lengthen(&mut self, length: usize) {
        if self.ends.len() < length {
            self.ends.resize(length, self.dimensions.len());
        }
    }

    /// Adds empty slots until there are `length`, or removes empty ones at the end; 0 changes nothing.
    pub(crate) fn fit(&mut self, length: usize) {
        if length == 0 {
            return;
        }
        self.lengthen(length);
        while self.len() > length && self.iter().last().is_some_and(<[i128]>::is_empty) {
            self.ends.pop();
        }
    }

    /// Empties the slots at the positions for which `is_absent` holds.
    pub(crate) fn empty_where(&mut self, is_absent: impl Fn(usize) -> bool) {
        let (mut start, mut kept) = (0, 0);
        for (position, slot_end) in self.ends.iter_mut().enumerate() {
            let end = std::mem::replace(slot_end, 0);
            if !is_absent(position) {
                self.dimensions.copy_within(start..end, kept);
                kept += end - start;
            }
            *slot_end = kept;
            start = end;
        }
        self.dimensions.truncate(kept);
    }

    /// Appends `1,5120;5120`: dimensions joined with commas, slots with semicolons.
    pub fn push_text(&self, out: &mut String) {
        let mut digits = itoa::Buffer::new();
        let mut start = 0;
        for (position, &end) in self.ends.iter().enumerate() {
            if position > 0 {
                out.push(';');
            }
            for (index, &dimension) in self.dimensions[start..end].iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                match i64::try_from(dimension) {
                    Ok(dimension) => out.push_str(digits.format(dimension)),
                    Err(_) => out.push_str(&dimension.to_string()),
                }
            }
            start = end;
        }
    }

    /// Appends bytes that order as the slots do: slot by slot, dimension by dimension as numbers, a beginning before the whole.
    ///
    /// One empty slot at the end does not count, as it is not seen when the cell is read back.
    pub(crate) fn push_sort_key(&self, key: &mut Vec<u8>) {
        const SLOT_END: u8 = 1;
        let mut start = 0;
        let last = self.ends.len().saturating_sub(1);
        for (position, &end) in self.ends.iter().enumerate() {
            if position == last && start == end {
                return;
            }
            for &dimension in &self.dimensions[start..end] {
                push_ordered(key, dimension);
            }
            key.push(SLOT_END);
            start = end;
        }
    }
}

/// Appends a number such that the order of the bytes is that of the numbers: its sign and length, then its digits.
fn push_ordered(key: &mut Vec<u8>, number: i128) {
    const ZERO: u8 = 0x80;
    // -1 has no digits, like 0; every further negative number has those of what lies below it, inverted.
    let magnitude = if number < 0 { !number } else { number };
    let digits = magnitude.to_be_bytes();
    let leading = (magnitude.leading_zeros() / 8) as usize;
    let digits = digits.get(leading..).unwrap_or_default();
    let length = digits.len() as u8;
    if number < 0 {
        key.push(ZERO - 1 - length);
        key.extend(digits.iter().map(|digit| !digit));
    } else {
        key.push(ZERO + length);
        key.extend_from_slice(digits);
    }
}

impl<'a> FromIterator<&'a [i128]> for Slots {
    fn from_iter<I: IntoIterator<Item = &'a [i128]>>(slots: I) -> Self {
        let mut collected = Self::default();
        for slot in slots {
            collected.push(slot);
        }
        collected
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn slots(of: &[Vec<i128>]) -> Slots {
        of.iter().map(Vec::as_slice).collect()
    }

    fn key(of: &[Vec<i128>]) -> Vec<u8> {
        let mut key = Vec::new();
        slots(of).push_sort_key(&mut key);
        key
    }

    #[test]
    fn text_and_emptied_slots() {
        let mut some = slots(&[vec![1, 5120], vec![5120], vec![-3, i128::MAX]]);
        some.lengthen(5);
        some.empty_where(|position| position == 1);
        let mut text = String::new();
        some.push_text(&mut text);
        assert_eq!(text, format!("1,5120;;-3,{};;", i128::MAX));
        assert_eq!(some.iter().map(<[i128]>::len).collect::<Vec<_>>(), [2, 0, 2, 0, 0]);
    }

    fn dimension() -> impl Strategy<Value = i128> {
        prop_oneof![-3_i128..3, -70_000_i128..70_000, any::<i64>().prop_map(i128::from), any::<i128>()]
    }

    proptest! {
        #[test]
        fn keys_order_as_lists_of_numbers(
            left in prop::collection::vec(prop::collection::vec(dimension(), 0..4), 0..4),
            right in prop::collection::vec(prop::collection::vec(dimension(), 0..4), 0..4),
        ) {
            let read_back = |mut list: Vec<Vec<i128>>| {
                if list.last().is_some_and(Vec::is_empty) {
                    list.pop();
                }
                list
            };
            prop_assert_eq!(key(&left).cmp(&key(&right)), read_back(left).cmp(&read_back(right)));
        }
    }
}
