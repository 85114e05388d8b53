//! Run lengths of levels and of places in a dictionary, checked for what the decoder takes for granted.

use super::varint::{LONGEST, varint};

/// Values of a group of a run that is not of one value.
const GROUP: u64 = 8;

/// Whether the lengths of the runs that hold this many values of this many bits are numbers. The decoder panics on others. Runs that end early are
/// its own business.
pub(super) fn have_lengths(mut runs: &[u8], bits: u8, mut values: u64) -> bool {
    loop {
        let (indicator, rest) = match varint(runs) {
            Some((Some(indicator), rest)) => (indicator, rest),
            Some((None, _)) => return false,
            None => return runs.len() < LONGEST,
        };
        let (held, bytes) = match indicator % 2 {
            1 => (indicator / 2 * GROUP, indicator / 2 * u64::from(bits)),
            _ => (indicator / 2, u64::from(bits.div_ceil(8))),
        };
        let Some(behind) = usize::try_from(bytes).ok().and_then(|bytes| rest.get(bytes..)) else { return true };
        values = values.saturating_sub(held);
        // A length of 0 is padding behind the last run.
        if indicator == 0 || values == 0 {
            return true;
        }
        runs = behind;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_lengths_of_more_bytes_than_a_number_has_are_refused() {
        let one_value = [0x06, 0x01];
        let groups = [0x05, 0xaa, 0xaa];
        let endless = [0x80; 12];
        assert!(have_lengths(&[], 1, 5));
        assert!(have_lengths(&[one_value.as_slice(), &groups].concat(), 1, 19));
        assert!(
            have_lengths(&[&one_value, endless.as_slice()].concat(), 1, 3),
            "what comes behind the values is not read"
        );
        assert!(!have_lengths(&[&one_value, endless.as_slice()].concat(), 1, 4));
        assert!(!have_lengths(&[&groups, endless.as_slice()].concat(), 1, 17));
        assert!(!have_lengths(&[&[0x80; 5], one_value.as_slice()].concat(), 1, 1));
        assert!(have_lengths(&[0xff, 0x7f, 0x00], 32, 1), "it ends early");
    }
}
