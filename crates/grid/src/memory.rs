//! How much memory the tensors of a row take.

use num_bigint::BigInt;

use crate::slots::Slots;

/// Bytes of an element whose type is not known.
const DEFAULT_ELEMENT_BYTES: i128 = 2;

/// The most memory that the tensors of one row may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    bytes: i128,
}

impl Budget {
    /// A budget in GiB, fraction of a byte cut off; `None`, no filter, below one byte.
    ///
    /// ```
    /// use perfdb_grid::memory::Budget;
    /// assert_eq!(Budget::from_gib(0.001).unwrap().to_string(), "1.02 MiB");
    /// assert_eq!(Budget::from_gib(0.0), None);
    /// ```
    #[must_use]
    pub fn from_gib(gib: f64) -> Option<Self> {
        // Saturates far beyond any memory.
        let bytes = (gib * 1024.0 * 1024.0 * 1024.0) as i128;
        (bytes >= 1).then_some(Self { bytes })
    }

    /// The budget in bytes.
    #[must_use]
    pub fn bytes(self) -> i128 {
        self.bytes
    }

    /// Whether the tensors of a row take more.
    #[must_use]
    pub(crate) fn is_exceeded(self, inputs: (&Slots, &[i128]), outputs: (&Slots, &[i128])) -> bool {
        match total_bytes(inputs).zip(total_bytes(outputs)).and_then(|(inputs, outputs)| inputs.checked_add(outputs)) {
            Some(total) => total > self.bytes,
            None => big_total_bytes(inputs) + big_total_bytes(outputs) > BigInt::from(self.bytes),
        }
    }
}

impl std::fmt::Display for Budget {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const UNITS: [(i128, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        match UNITS.into_iter().find(|(unit, _)| self.bytes >= *unit) {
            Some((unit, name)) => write!(formatter, "{:.2} {name}", self.bytes as f64 / unit as f64),
            None => write!(formatter, "{} B", self.bytes),
        }
    }
}

/// Bytes of all slots with these element sizes; `None` beyond 127 bits.
fn total_bytes((slots, element_bytes): (&Slots, &[i128])) -> Option<i128> {
    let mut total: i128 = 0;
    for (position, slot) in slots.iter().enumerate().filter(|(_, slot)| !slot.is_empty()) {
        let element = element_bytes.get(position).copied().unwrap_or(DEFAULT_ELEMENT_BYTES);
        let bytes = slot.iter().try_fold(element, |product, dimension| product.checked_mul(*dimension))?;
        total = total.checked_add(bytes)?;
    }
    Some(total)
}

fn big_total_bytes((slots, element_bytes): (&Slots, &[i128])) -> BigInt {
    let bytes = |(position, slot): (usize, &[i128])| {
        let element = element_bytes.get(position).copied().unwrap_or(DEFAULT_ELEMENT_BYTES);
        slot.iter().fold(BigInt::from(element), |product, dimension| product * dimension)
    };
    slots.iter().enumerate().filter(|(_, slot)| !slot.is_empty()).map(bytes).sum()
}

/// Bytes of an element of a named type.
#[must_use]
pub(crate) fn element_bytes(type_name: &str) -> i128 {
    match type_name.to_ascii_uppercase().as_str() {
        "DT_INT8" | "INT8" | "DT_UINT8" | "UINT8" | "DT_BOOL" | "BOOL" => 1,
        "DT_FLOAT8_E4M3" | "DT_FLOAT8_E5M2" | "DT_FLOAT8" => 1,
        "DT_FLOAT" | "DT_FLOAT32" | "FLOAT" | "DT_INT32" | "INT32" | "DT_UINT32" => 4,
        "DT_FLOAT64" | "DT_DOUBLE" | "DT_INT64" | "INT64" | "DT_UINT64" | "DT_COMPLEX64" => 8,
        "DT_COMPLEX128" => 16,
        // All 16-bit types, and every name that is not known.
        _ => DEFAULT_ELEMENT_BYTES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(of: &[&[i128]]) -> Slots {
        of.iter().copied().collect()
    }

    #[test]
    fn a_row_may_take_the_budget_and_no_more() {
        let inputs = slots(&[&[4, 8], &[], &[8]]);
        // 32 floats, an empty slot, 8 elements of unknown type: 144 bytes.
        let exceeded = |bytes| Budget { bytes }.is_exceeded((&inputs, &[4, 8]), (&slots(&[]), &[]));
        assert!(!exceeded(144) && exceeded(143));
    }

    #[test]
    fn sizes_beyond_any_integer_are_exact() {
        let huge = slots(&[&[i128::MAX, i128::MAX], &[i128::MIN, i128::MAX], &[3]]);
        // The first two nearly cancel: MAX² − MAX·(MAX + 1) = −MAX.
        assert!(!Budget { bytes: 1 }.is_exceeded((&huge, &[1, 1, 1]), (&slots(&[]), &[])));
        assert!(Budget { bytes: i128::MAX }.is_exceeded((&slots(&[&[i128::MAX, 2]]), &[]), (&slots(&[]), &[])));
    }

    #[test]
    fn types_in_any_case() {
        let sizes = ["float", "Dt_Bool", "DT_BF16", "dt_complex128", "float32", "INT64"].map(element_bytes);
        assert_eq!(sizes, [4, 1, 2, 16, 2, 8]);
    }

    #[test]
    fn budgets_are_shown_in_the_largest_unit() {
        let shown = [1 << 30, (1 << 30) - 1, 10737, 1023].map(|bytes| Budget { bytes }.to_string());
        assert_eq!(shown, ["1.00 GiB", "1024.00 MiB", "10.49 KiB", "1023 B"]);
    }
}
