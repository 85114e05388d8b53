//! The key of a table row.

use super::record::{Key, Shape, big_integer};
use crate::slots::{is_absent_word, unquoted};
use num_bigint::BigInt;
use perfdb_files::escape::excerpt;
use perfdb_pycompat::text::trim;

/// The key of a row, from its input shapes.
pub(super) fn key(input_shapes: &str) -> Result<Key, String> {
    let text = unquoted(input_shapes);
    let slots: Vec<&str> = if text.is_empty() { Vec::new() } else { text.split(';').map(trim).collect() };
    let slot = |at: usize| slots.get(at).copied().unwrap_or_default();
    Ok(Key {
        query: shape(slot(0))?,
        key: shape(slot(1))?,
        value: shape(slot(2))?,
        // Anything but one integer there, `4,` too, means that the number is not known.
        kv_lengths: big_integer(slot(6)),
        mask: shape(slot(4))?,
        block_table: shape(slot(14))?,
    })
}

fn shape(slot: &str) -> Result<Shape, String> {
    if slot.is_empty() || is_absent_word(slot) {
        return Ok(None);
    }
    let parts = slot.split(',').map(trim).filter(|part| !part.is_empty());
    let numbers: Option<Vec<BigInt>> = parts.map(big_integer).collect();
    match numbers {
        Some(numbers) => Ok(Some(numbers)),
        None => Err(format!("Input Shapes: slot {} is not a list of integers", excerpt(slot))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_lengths_is_one_integer_or_not_known() -> Result<(), String> {
        for (slot, expected) in
            [("4", Some(4)), (" +4 ", Some(4)), ("4,", None), (",4", None), ("4,4", None), ("N/A", None), ("x", None)]
        {
            let found = key(&format!("1;1;1;;;;{slot}"))?.kv_lengths;
            assert_eq!(found, expected.map(Into::into), "{slot}");
        }
        Ok(())
    }
}
