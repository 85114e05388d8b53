//! The plan of a run: which collectives, on which ranks, with which sizes, in which order.

mod builder;

use crate::collective::Collective;
use crate::dtype::CollectiveDType;
use crate::error::Error;
use crate::topology::Grid;
use builder::Builder;
use indexmap::IndexSet;
use serde::{Deserialize, Serialize};

/// Sizes at or above this are measured one session per call in kernel timing, in bytes.
pub const LARGE_MESSAGE_BYTES: u64 = 524_288;

/// The schema of [`Plan`] as a document.
pub const PLAN_SCHEMA: &str = "perfdb.comm-plan/1";

/// How times are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BenchMode {
    /// From the profiler's kernel table (NPU only).
    Kernel,
    /// Around the call.
    Event,
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct PlanRequest {
    /// Operators, in run order; repeats are run again.
    pub ops: Vec<Collective>,
    /// Group sizes, in run order.
    pub num_devices: Vec<u64>,
    /// Tiers to run for every group size; `None` = the tier of the group's ranks.
    pub topology_tier: Option<Vec<u64>>,
    /// Hardware grid, outermost dimension first.
    pub grid_shape: Vec<u64>,
    /// Element type.
    pub dtype: CollectiveDType,
    /// Message sizes in bytes, in run order.
    pub bytes_grid: Vec<u64>,
    /// How times are taken.
    pub bench_mode: BenchMode,
}

impl Default for PlanRequest {
    fn default() -> Self {
        Self {
            ops: Collective::ALL.to_vec(),
            num_devices: vec![16],
            topology_tier: None,
            grid_shape: vec![48, 8, 2],
            dtype: CollectiveDType::BFLOAT16,
            bytes_grid: powers_of_two(10, 29),
            bench_mode: BenchMode::Kernel,
        }
    }
}

/// The powers of two with these exponents, both ends included.
pub(crate) fn powers_of_two(first: u32, last: u32) -> Vec<u64> {
    (first..=last).map(|exponent| 1u64 << exponent).collect()
}

/// A plan, also as the document `perfdb.comm-plan/1`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// [`PLAN_SCHEMA`].
    pub schema: String,
    /// How times are taken.
    pub bench_mode: BenchMode,
    /// Element type.
    pub dtype: CollectiveDType,
    /// Element type as the tables name it.
    pub dtype_csv: String,
    /// Bytes of one element.
    pub element_size: u64,
    /// Hardware grid, outermost dimension first.
    pub grid_shape: Vec<u64>,
    /// Message sizes in bytes, as asked for.
    pub bytes_grid: Vec<u64>,
    /// Distinct groups in the order of their first use.
    pub groups: Vec<Group>,
    /// The points, in run order.
    pub configs: Vec<Point>,
    /// Pairs of group size and tier that do not fit.
    pub skipped: Vec<Skipped>,
    /// Points that share profiler sessions (kernel timing; empty for event timing).
    pub batches: Vec<Batch>,
    /// Number of distinct combinations of operator, size and group.
    pub warmup_points: usize,
    /// Ranks that a run needs.
    pub min_world_size: u64,
}

/// A value of an option that does less than it seems to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PlanWarning {
    /// The option, by the name of its field in [`PlanRequest`].
    pub option: &'static str,
    pub value: u64,
    /// What becomes of it.
    pub reason: String,
}

impl std::fmt::Display for PlanWarning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}: {}", self.option, self.value, self.reason)
    }
}

/// The ranks of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// Ranks; the first is the leader.
    pub ranks: Vec<u64>,
}

/// One point of the plan: one row of a table.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Point {
    /// Operator.
    pub op: Collective,
    /// Size label in bytes, exactly as asked for.
    pub message_bytes: u64,
    /// Ranks in the group.
    pub num_devices: u64,
    /// The tier that the row is filed under.
    pub topology_tier: u64,
    /// The tier that the ranks really span.
    pub resolved_tier: u64,
    /// Index into [`Plan::groups`].
    pub group: usize,
    /// Elements of the piece.
    pub chunk_elements: u64,
    /// Input elements of one rank.
    pub input_elements: u64,
    /// Output elements of one rank.
    pub output_elements: u64,
    /// Bytes of the tensors of one rank.
    pub peak_tensor_bytes: u64,
    /// Correction that applies on NPUs, in microseconds.
    pub dispatch_overhead_us: f64,
    /// File name of the operator's table.
    pub csv: String,
}

/// A pair of group size and tier that was left out because the tier spans fewer ranks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// Operator.
    pub op: Collective,
    /// Ranks in the group.
    pub num_devices: u64,
    pub topology_tier: u64,
    /// Ranks that the tier spans.
    pub span: u64,
}

/// Points of one operator on one group, measured in common profiler sessions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// Operator.
    pub op: Collective,
    /// Index into [`Plan::groups`].
    pub group: usize,
    /// Points below [`LARGE_MESSAGE_BYTES`], in plan order.
    pub small: Vec<usize>,
    /// The others, in plan order.
    pub large: Vec<usize>,
}

impl PlanRequest {
    /// Checks that the request can be right at all; the error names the option.
    pub fn check(&self) -> Result<Grid, Error> {
        let refuse = |option: &str, reason: String| Err(Error::usage(option, reason));
        for (option, empty) in [
            ("ops", self.ops.is_empty()),
            ("num_devices", self.num_devices.is_empty()),
            ("bytes_grid", self.bytes_grid.is_empty()),
            ("topology_tier", self.topology_tier.as_ref().is_some_and(Vec::is_empty)),
        ] {
            if empty {
                return refuse(option, "needs at least one value".into());
            }
        }
        if self.num_devices.contains(&0) {
            return refuse("num_devices", "0: a group has at least one rank".into());
        }
        let Some(grid) = Grid::new(self.grid_shape.clone()) else {
            return refuse("grid_shape", "needs at least one dimension, each of at least 1".into());
        };
        let tiers = self.grid_shape.len() as u64;
        if let Some(tier) = self.topology_tier.iter().flatten().find(|tier| **tier >= tiers) {
            return refuse("topology_tier", format!("{tier}: the grid has tiers 0 to {}", tiers - 1));
        }
        let element = self.dtype.size_bytes();
        if let Some(bytes) = self.bytes_grid.iter().find(|bytes| **bytes < element) {
            return refuse(
                "bytes_grid",
                format!("{bytes}: smaller than one element of {} ({element} bytes)", self.dtype),
            );
        }
        Ok(grid)
    }

    /// Builds the plan. It depends on the request alone, never on the machine.
    pub fn plan(&self) -> Result<Plan, Error> {
        let grid = self.check()?;
        let mut builder = Builder::new(self, &grid);
        for op in &self.ops {
            for &devices in &self.num_devices {
                let own_tier = grid.tier_of_first_ranks(devices) as u64;
                let tiers = self.topology_tier.clone().unwrap_or_else(|| vec![own_tier]);
                for tier in tiers {
                    builder.add(*op, devices, tier, own_tier)?;
                }
            }
        }
        builder.finish()
    }
}

impl Plan {
    /// The document, one point per line.
    pub fn to_json(&self) -> String {
        crate::document::render(self)
    }

    /// What a reader of the plan should know: groups left out, sizes that are not a multiple of the element's.
    pub fn warnings(&self) -> Vec<PlanWarning> {
        let mut warnings: IndexSet<PlanWarning> = IndexSet::new();
        for Skipped { num_devices, topology_tier, span, .. } in &self.skipped {
            let reason = format!("left out at tier {topology_tier}, which spans {span} ranks");
            warnings.insert(PlanWarning { option: "num_devices", value: *num_devices, reason });
        }
        for bytes in self.bytes_grid.iter().filter(|bytes| **bytes % self.element_size != 0) {
            let (dtype, size) = (self.dtype, self.element_size);
            let sent = bytes / size * size;
            let reason = format!(
                "not a multiple of the {size} bytes of a {dtype} element; {sent} bytes are sent under this label"
            );
            warnings.insert(PlanWarning { option: "bytes_grid", value: *bytes, reason });
        }
        warnings.into_iter().collect()
    }

    /// One line for every point whose rows carry another tier than its ranks span.
    pub(crate) fn tier_warnings(&self) -> Vec<String> {
        self.configs
            .iter()
            .filter(|point| point.topology_tier != point.resolved_tier)
            .map(|point| {
                format!(
                    "{}: filed under tier {}, but ranks 0 to {} meet at tier {}",
                    point.label(),
                    point.topology_tier,
                    point.num_devices - 1,
                    point.resolved_tier
                )
            })
            .collect()
    }

    /// The distinct operators, in plan order.
    pub fn ops(&self) -> Vec<Collective> {
        let distinct: IndexSet<Collective> = self.configs.iter().map(|point| point.op).collect();
        distinct.into_iter().collect()
    }

    /// Why the plan cannot be one of ours, when it was read from a file: an index or a group that is not there.
    pub(crate) fn inconsistency(&self) -> Option<String> {
        if self.schema != PLAN_SCHEMA {
            return Some(format!("schema is {:?}, expected {PLAN_SCHEMA:?}", self.schema));
        }
        for (index, point) in self.configs.iter().enumerate() {
            let Some(group) = self.groups.get(point.group) else {
                return Some(format!("configs[{index}]: no group {}", point.group));
            };
            if group.ranks.len() as u64 != point.num_devices || point.num_devices == 0 {
                return Some(format!(
                    "configs[{index}]: {} devices, but its group has {} ranks",
                    point.num_devices,
                    group.ranks.len()
                ));
            }
        }
        for (index, batch) in self.batches.iter().enumerate() {
            if let Some(config) = batch.small.iter().chain(&batch.large).find(|config| **config >= self.configs.len()) {
                return Some(format!("batches[{index}]: no config {config}"));
            }
        }
        None
    }
}

impl Point {
    /// Operator, size, devices and tier in words, for messages.
    pub fn label(&self) -> String {
        format!("{}, {} bytes, {} devices, tier {}", self.op, self.message_bytes, self.num_devices, self.topology_tier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(ops: &[Collective], devices: &[u64], bytes: &[u64]) -> PlanRequest {
        PlanRequest {
            ops: ops.to_vec(),
            num_devices: devices.to_vec(),
            bytes_grid: bytes.to_vec(),
            ..PlanRequest::default()
        }
    }

    #[test]
    fn sizes_split_at_512_kib() {
        let plan = request(&[Collective::AllGather], &[8], &[524_288, 524_287, 1024, 524_289]).plan().unwrap();
        assert_eq!((plan.batches[0].small.clone(), plan.batches[0].large.clone()), (vec![1, 2], vec![0, 3]));
        assert_eq!(plan.warnings().len(), 2);
    }

    #[test]
    fn one_batch_and_one_group_for_two_tiers_over_the_same_ranks() {
        let mut asked = request(&[Collective::AllReduce], &[8], &[1024]);
        asked.topology_tier = Some(vec![1, 0]);
        let plan = asked.plan().unwrap();
        assert_eq!((plan.groups.len(), plan.batches.len(), plan.warmup_points), (1, 1, 1));
        assert_eq!(plan.configs[1].resolved_tier, 1);
        assert_eq!(plan.tier_warnings().len(), 1);
    }

    #[test]
    fn groups_beyond_the_span_are_skipped_once_per_operator() {
        let plan = request(&[Collective::AllReduce, Collective::AllToAll], &[769, 2], &[1024]).plan().unwrap();
        assert_eq!(plan.skipped.len(), 2);
        assert_eq!(plan.skipped[0].span, 768);
        assert_eq!(plan.min_world_size, 2);
        let none = request(&[Collective::AllReduce], &[769], &[1024]).plan().unwrap_err();
        assert!(none.to_string().contains("nothing to run"), "{none}");
    }

    #[test]
    fn requests_that_cannot_be_right_name_the_flag() {
        let option = |change: fn(&mut PlanRequest)| {
            let mut asked = PlanRequest::default();
            change(&mut asked);
            match asked.plan().unwrap_err() {
                Error::Usage { option, .. } => option,
                other => panic!("{other}"),
            }
        };
        assert_eq!(option(|r| r.num_devices = vec![2, 0]), "num_devices");
        assert_eq!(option(|r| r.grid_shape = vec![2, 0]), "grid_shape");
        assert_eq!(option(|r| r.topology_tier = Some(vec![3])), "topology_tier");
        assert_eq!(option(|r| r.bytes_grid = vec![1]), "bytes_grid");
        assert_eq!(option(|r| r.bytes_grid = vec![]), "bytes_grid");
        assert_eq!(
            option(|r| {
                r.grid_shape = vec![1 << 40, 2];
                r.num_devices = vec![1 << 30];
            }),
            "num_devices"
        );
    }

    #[test]
    fn documents_read_back() {
        let plan = PlanRequest::default().plan().unwrap();
        let again: Plan = serde_json::from_str(&plan.to_json()).unwrap();
        assert_eq!(again.to_json(), plan.to_json());
        assert_eq!(again.inconsistency(), None);
        assert_eq!(plan.to_json().lines().filter(|line| line.contains("chunk_elements")).count(), 80);
    }
}
