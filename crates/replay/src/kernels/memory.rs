//! The guard that keeps results from filling the host's memory.

use crate::kernels::context;
use crate::kernels::error::KernelError;

/// Part of the available memory that one case may take.
const SHARE: f64 = 0.6;

/// Results below this size are not weighed when they are made: asking the system costs a noticeable part of their time.
const WEIGHED_FROM_BYTES: u64 = 256 << 20;

/// Insists on room for a new tensor of that size: results follow from arguments too, not from recorded shapes alone.
pub(crate) fn require_room(bytes: u64) -> Result<(), KernelError> {
    if bytes < WEIGHED_FROM_BYTES { Ok(()) } else { check_room(bytes, context::available_bytes()) }
}

/// Refuses to take more than 60 % of the available memory, with both sizes.
pub(crate) fn check_room(needed_bytes: u64, available_bytes: Option<u64>) -> Result<(), KernelError> {
    let limit = available_bytes.map_or(isize::MAX as f64, |available| available as f64 * SHARE);
    if needed_bytes as f64 <= limit {
        return Ok(());
    }
    let available = available_bytes.map_or_else(|| "not so much".to_owned(), gibibytes);
    Err(KernelError::OutOfMemory(format!("needs {} of memory, {available} available", gibibytes(needed_bytes))))
}

fn gibibytes(bytes: u64) -> String {
    format!("{:.2} GiB", bytes as f64 / f64::from(1 << 30))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::context::KernelContext;

    #[test]
    fn small_results_are_not_weighed() {
        let nothing_left = KernelContext { available_bytes: Some(|| Some(0)), ..KernelContext::default() };
        nothing_left.scope(|| {
            assert_eq!(require_room(1 << 20), Ok(()));
            let text = "needs 0.25 GiB of memory, 0.00 GiB available";
            assert_eq!(require_room(256 << 20), Err(KernelError::OutOfMemory(text.to_owned())));
        });
        assert!(require_room(u64::MAX).is_err() && require_room(256 << 20).is_ok());
    }
}
