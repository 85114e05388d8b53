//! The four collectives that are measured, and what is known about each.

use perfdb_store::registry::parts;
use serde::{Deserialize, Serialize};

/// A collective operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Collective {
    /// Every rank ends with the sum of all ranks' tensors.
    AllReduce,
    /// Every rank ends with the pieces of all ranks.
    AllGather,
    /// Every rank ends with its piece of the sum.
    ReduceScatter,
    /// Every rank sends a piece to every rank. Filed under the *v* variant, the name that the list form of the call
    /// has in profiles of NPUs.
    AllToAll,
}

/// How many elements of one rank a collective takes and gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elements {
    /// Elements of the piece.
    pub chunk: u64,
    /// Input elements of one rank.
    pub input: u64,
    /// Output elements of one rank.
    pub output: u64,
}

impl Collective {
    /// All of them, in the order in which they are measured when none is named.
    pub const ALL: [Self; 4] = [Self::AllReduce, Self::AllGather, Self::ReduceScatter, Self::AllToAll];

    /// The name used on command lines and in documents, for example `all_reduce`.
    pub fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all_reduce",
            Self::AllGather => "all_gather",
            Self::ReduceScatter => "reduce_scatter",
            Self::AllToAll => "all_to_all",
        }
    }

    /// The operator of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|op| op.name() == name)
    }

    /// What the type of its kernels begins with in profiler output; also the stem of its table.
    pub(crate) fn kernel_prefix(self) -> &'static str {
        match self {
            Self::AllReduce => parts::ALL_REDUCE,
            Self::AllGather => parts::ALL_GATHER,
            Self::ReduceScatter => parts::REDUCE_SCATTER,
            Self::AllToAll => parts::ALL_TO_ALL,
        }
    }

    /// The file name of its table.
    pub(crate) fn table_file(self) -> String {
        format!("{}.csv", self.kernel_prefix())
    }

    /// Microseconds that stand for the call chain of the serving framework, which a bare benchmark does not have.
    ///
    /// Measured once on `ATLAS_800_A3_752T_128G_DIE` with vLLM 0.18.0 and CANN 8.5; 0 for every other combination.
    pub(crate) fn dispatch_overhead_us(self, devices: u64) -> f64 {
        match (self, devices) {
            (Self::AllReduce, 16) => 7.7,
            (Self::AllGather | Self::ReduceScatter, 16) => 14.6,
            (Self::AllGather, 8) => 1.2,
            (Self::ReduceScatter, 8) => 2.0,
            _ => 0.0,
        }
    }

    /// Elements per rank for a message of `elements` elements (its bytes divided by the element size, rounded down)
    /// in a group of `devices` ranks. Sizes that no machine holds are cut off at the largest integer.
    pub fn elements(self, elements: u64, devices: u64) -> Elements {
        let times_devices = elements.saturating_mul(devices);
        match self {
            Self::AllReduce => Elements { chunk: elements, input: elements, output: elements },
            Self::AllGather => Elements { chunk: elements, input: elements, output: times_devices },
            Self::ReduceScatter => Elements { chunk: elements, input: times_devices, output: elements },
            Self::AllToAll => {
                let chunk = (elements / devices.max(1)).max(1);
                let all = chunk.saturating_mul(devices);
                Elements { chunk, input: all, output: all }
            }
        }
    }

    /// The bytes that bandwidths refer to in the convention of nccl-tests: the tensor of one rank for `all_reduce`,
    /// the total over the ranks for the others. `chunk_bytes` is the piece in bytes.
    pub fn size_bytes(self, chunk_bytes: u64, devices: u64) -> u64 {
        match self {
            Self::AllReduce => chunk_bytes,
            Self::AllGather | Self::ReduceScatter | Self::AllToAll => chunk_bytes.saturating_mul(devices),
        }
    }

    /// Bus bandwidth divided by algorithm bandwidth for `devices` ranks, as nccl-tests defines it.
    pub(crate) fn bus_factor(self, devices: u64) -> f64 {
        let ranks = devices as f64;
        match self {
            Self::AllReduce => 2.0 * (ranks - 1.0) / ranks,
            Self::AllGather | Self::ReduceScatter | Self::AllToAll => (ranks - 1.0) / ranks,
        }
    }
}

impl std::fmt::Display for Collective {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for op in Collective::ALL {
            assert_eq!(Collective::from_name(op.name()), Some(op));
            assert_eq!(serde_json::to_value(op).unwrap(), op.name());
        }
        assert_eq!(Collective::from_name("broadcast"), None);
    }

    #[test]
    fn all_to_all_never_sends_less_than_one_element() {
        let of = |k, n| Collective::AllToAll.elements(k, n);
        assert_eq!(of(1, 16), Elements { chunk: 1, input: 16, output: 16 });
        assert_eq!(of(500, 16), Elements { chunk: 31, input: 496, output: 496 });
    }

    #[test]
    fn pieces_and_totals() {
        let all_gather = Collective::AllGather.elements(512, 8);
        assert_eq!((all_gather.input, all_gather.output, all_gather.chunk), (512, 4096, 512));
        let reduce_scatter = Collective::ReduceScatter.elements(512, 8);
        assert_eq!((reduce_scatter.input, reduce_scatter.output), (4096, 512));
        assert_eq!(Collective::AllReduce.size_bytes(1024, 8), 1024);
        assert_eq!(Collective::ReduceScatter.size_bytes(1024, 8), 8192);
        assert_eq!(Collective::AllReduce.bus_factor(4), 1.5);
        assert_eq!(Collective::AllToAll.bus_factor(4), 0.75);
        assert_eq!(Collective::AllGather.elements(u64::MAX, 2).output, u64::MAX);
    }
}
