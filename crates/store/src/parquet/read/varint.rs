//! Numbers of seven bits a byte, as page headers and runs have them.

/// Bytes of a 32-bit number at most.
pub(super) const LONGEST: usize = 5;

/// The number at the front, and what follows it; `None` where it does not end. A number of more bytes than one of 32 bits takes is none: what
/// the Parquet library makes of it is not known.
pub(super) fn varint(bytes: &[u8]) -> Option<(Option<u64>, &[u8])> {
    let last = bytes.iter().position(|byte| byte & 0x80 == 0)?;
    let (digits, rest) = bytes.split_at(last + 1);
    let number = || digits.iter().rev().fold(0, |number, byte| number << 7 | u64::from(byte & 0x7f));
    Some(((digits.len() <= LONGEST).then(number), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_up_to_five_bytes() {
        assert_eq!(varint(&[0x05, 0xaa]), Some((Some(5), [0xaa].as_slice())));
        assert_eq!(varint(&[0xff, 0x7f]), Some((Some(0x3fff), [].as_slice())));
        assert_eq!(varint(&[0x80, 0x80, 0x80, 0x80, 0x08]), Some((Some(1 << 31), [].as_slice())));
        assert_eq!(varint(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 0x02]), Some((None, [0x02].as_slice())));
        assert_eq!(varint(&[0x80]), None);
        assert_eq!(varint(&[]), None);
    }
}
