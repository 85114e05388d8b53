//! One part of a job.

use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;

/// Shard `number` of `of`, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shard {
    number: u32,
    of: u32,
}

/// A text that names no shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a number and how many there are, such as 3/8, are needed")]
pub struct NoShard;

impl Shard {
    /// Shard `number` of `of`; there is none with the number 0 or beyond `of`.
    pub fn new(number: u32, of: u32) -> Option<Shard> {
        (1..=of).contains(&number).then_some(Shard { number, of })
    }

    /// Its number, from 1.
    pub fn number(self) -> u32 {
        self.number
    }

    /// How many shards there are.
    pub fn of(self) -> u32 {
        self.of
    }

    /// The one of `of` shards that a case belongs to: the first eight bytes of the SHA-256 of its key, as a big-endian
    /// number, modulo `of`. It depends on nothing but the key, so that other cases may come and go.
    ///
    /// ```
    /// use perfdb_files::shards::Shard;
    ///
    /// let owner = Shard::owner("Qwen3 PF", 7).unwrap();
    /// assert!(owner.owns("Qwen3 PF"));
    /// assert_eq!(Shard::owner("Qwen3 PF", 0), None);
    /// ```
    pub fn owner(key: &str, of: u32) -> Option<Shard> {
        let hash = Sha256::digest(key.as_bytes());
        let number = hash.iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        let place = number.checked_rem(u64::from(of))?;
        Shard::new(u32::try_from(place).ok()? + 1, of)
    }

    /// Whether a case is its own.
    pub fn owns(self, key: &str) -> bool {
        Shard::owner(key, self.of) == Some(self)
    }

    /// The name of its folder.
    pub(crate) fn folder_name(self) -> String {
        format!("shard-{}-of-{}", self.number, self.of)
    }

    /// The shard whose folder has this name.
    pub(crate) fn of_folder_name(name: &str) -> Option<Shard> {
        let (number, of) = name.strip_prefix("shard-")?.split_once("-of-")?;
        let shard = Shard::new(number.parse().ok()?, of.parse().ok()?)?;
        (shard.folder_name() == name).then_some(shard)
    }
}

/// `3/8`.
impl FromStr for Shard {
    type Err = NoShard;

    fn from_str(text: &str) -> Result<Shard, NoShard> {
        let number = |text: &str| if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None };
        let (shard, of) = text.split_once('/').ok_or(NoShard)?;
        number(shard).zip(number(of)).and_then(|(shard, of)| Shard::new(shard, of)).ok_or(NoShard)
    }
}

/// `3/8`.
impl fmt::Display for Shard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.number, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn texts_that_name_no_shard() {
        for text in ["", "3", "0/8", "9/8", "+1/8", "1/+8", "1/0", "1/8/2", " 1/8", "1 of 8", "1/4294967296"] {
            assert_eq!(text.parse::<Shard>(), Err(NoShard), "{text}");
        }
    }

    /// What is assigned today is assigned so for ever: shards of a job run with the same program, but people compare.
    #[test]
    fn owners_are_those_of_the_hash() {
        let owners = ["a", "b", "c", "Qwen3 PF"].map(|key| Shard::owner(key, 8).map(Shard::number));
        // The first eight bytes are ca978112ca1bbdca, 3e23e8160039594a, 2e7d2c03a9507ae2 and e7826da35661aed5.
        assert_eq!(owners, [Some(3), Some(3), Some(3), Some(6)]);
    }

    proptest! {
        #[test]
        fn every_case_has_one_owner(key in ".*", of in 1_u32..100) {
            let owners: Vec<u32> = (1..=of).filter(|&number| Shard::new(number, of).unwrap().owns(&key)).collect();
            prop_assert_eq!(owners.len(), 1);
        }

        #[test]
        fn texts_and_folder_names_name_the_shard(of in 1_u32.., at in any::<proptest::sample::Index>()) {
            let shard = Shard::new(u32::try_from(at.index(of as usize)).unwrap() + 1, of).unwrap();
            prop_assert_eq!(shard.to_string().parse(), Ok(shard));
            prop_assert_eq!(Shard::of_folder_name(&shard.folder_name()), Some(shard));
        }
    }
}
