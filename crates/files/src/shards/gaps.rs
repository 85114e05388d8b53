//! Numbers that are missing.

use std::fmt;
use std::ops::RangeInclusive;

/// The numbers from 1 on that are missing, as ranges: a manifest may speak of any number of shards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gaps(Vec<RangeInclusive<u32>>);

impl Gaps {
    /// Those of 1 to `of` that are not among `present`, which is sorted.
    pub(crate) fn between(present: impl IntoIterator<Item = u32>, of: u32) -> Gaps {
        let mut gaps = Vec::new();
        let mut next = Some(1);
        for number in present {
            if let Some(next) = next.filter(|next| *next < number) {
                gaps.push(next..=number - 1);
            }
            next = number.checked_add(1);
        }
        if let Some(next) = next.filter(|next| *next <= of) {
            gaps.push(next..=of);
        }
        Gaps(gaps)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many numbers are missing.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|gap| u64::from(gap.end() - gap.start()) + 1).sum()
    }
}

/// `2,5-7`: as job arrays want it.
impl fmt::Display for Gaps {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, gap) in self.0.iter().enumerate() {
            let separator = if at == 0 { "" } else { "," };
            match (gap.start(), gap.end()) {
                (first, last) if first == last => write!(formatter, "{separator}{first}")?,
                (first, last) => write!(formatter, "{separator}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_numbers_are_ranges_of_a_job_array() {
        for (present, of, text, count) in [
            (&[1, 2][..], 2, "", 0),
            (&[1, 2, 4], 4, "3", 1),
            (&[1, 3, 4, 8], 8, "2,5-7", 4),
            (&[3], 4, "1-2,4", 3),
            (&[], 3, "1-3", 3),
            (&[1], u32::MAX, "2-4294967295", 4_294_967_294),
            (&[u32::MAX], u32::MAX, "1-4294967294", 4_294_967_294),
        ] {
            let gaps = Gaps::between(present.iter().copied(), of);
            assert_eq!((gaps.to_string().as_str(), gaps.count()), (text, count), "{present:?} of {of}");
        }
    }
}
