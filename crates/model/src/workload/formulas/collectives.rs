//! Collectives: bytes that a rank sends if each is a ring.

use crate::roofline::{Collective, Precision, Work};

use crate::workload::call::{CallWork, Message, Unit};
use crate::workload::element;

pub(super) fn collective(message: &Message<'_>) -> Option<CallWork> {
    let lower = message.collective.to_ascii_lowercase();
    let passes = if lower.contains("allreduce") || lower.contains("all_reduce") {
        2.0
    } else if ["allgather", "all_gather", "reduce_scatter", "all_to_all", "alltoall"]
        .iter()
        .any(|name| lower.contains(name))
    {
        1.0
    } else {
        return None;
    };
    let elements = message.elements_in.max(message.elements_out) as f64;
    let message_bytes = elements * element::bytes(element::of_name(message.element_type)?);
    if message.ranks == 0 {
        return None;
    }
    let ring = Collective { message_bytes, ranks: f64::from(message.ranks) }.work();
    let work = Work { operations: 0.0, bytes: passes * ring.bytes };
    Some(CallWork { work, unit: Unit::Link, precision: Precision::Fp32 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_sends_each_part_once_or_twice() {
        let bytes = |collective, elements_in, elements_out| {
            let message = Message { collective, elements_in, elements_out, element_type: "BFloat16", ranks: 4 };
            message.work().map(|found| found.work.bytes)
        };
        assert_eq!(bytes("allreduce", 1024, 1024), Some(3072.0));
        assert_eq!(bytes("_allgather_base", 256, 1024), Some(1536.0));
        assert_eq!(bytes("_reduce_scatter_base", 1024, 256), Some(1536.0));
        assert_eq!(bytes("all_to_allv", 1024, 1024), Some(1536.0));
        assert_eq!(bytes("barrier", 1, 1), None);
    }
}
