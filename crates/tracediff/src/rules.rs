//! The three rule sets, each one constant [`Rules`] value.

/// How traces are read and compared. Use one of [`PERFDB`], [`WAFER_0_1_33`], [`WAFER_0_1_35`], or build your own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// Name: of the release whose rules they are, or `perfdb`.
    pub name: &'static str,
    /// Kernel classes.
    pub classes: ClassTable,
    /// Prefill and decode.
    pub phases: PhaseRule,
    /// Layers of the model.
    pub layers: LayerRule,
    /// Which Python frame a kernel belongs to.
    pub frames: FrameRule,
    /// What a limit of no stacks means.
    pub zero_stacks: ZeroStacks,
    /// What the ratio of an operation divides.
    pub ratio: RatioRule,
    /// Arithmetic and shape of the result.
    pub comparison: ComparisonRule,
    /// AMD without a device name.
    pub device: DeviceRule,
}

/// A table of kernel classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClassTable {
    /// One vendor-free table, then the host operator.
    Perfdb,
    /// Registry and conditions of wafer-core 0.1.33.
    Wafer0133,
    /// Conditions of wafer-core 0.1.35.
    Wafer0135,
}

/// Where a kernel's phase comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PhaseRule {
    /// The step annotation around the kernel's launch.
    AtLaunch,
    /// The `execute_context…` annotation around the kernel itself; prefill from this many context tokens; decode otherwise.
    AtKernel {
        /// Smallest number of context tokens of a prefill.
        prefill_tokens: i64,
    },
}

/// Where a kernel's layer comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerRule {
    /// Attention kernels open layers in every pass and device.
    PerPass,
    /// Marker kernels open layers through the whole trace; layers belong to correlation ids.
    Markers,
    /// Large correlation groups with attention and matrix product are layers.
    CorrelationGroups,
}

/// Which Python frame a kernel belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameRule {
    /// The innermost frame of the launching thread at the time of the launch.
    AtLaunch,
    /// A frame of any thread at the time of the first kernel of a name.
    AtFirstKernel,
}

/// What a limit of 0 stacks means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZeroStacks {
    /// No limit.
    NoLimit,
    /// No stacks.
    NoStacks,
}

/// What the ratio of an operation divides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RatioRule {
    /// Total times.
    Totals,
    /// Average times.
    Averages,
}

/// Arithmetic and shape of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComparisonRule {
    /// Exact integers, symmetric in the two traces, nothing dropped.
    Exact,
    /// Doubles, rows of operations on both sides only, trace 1 taken for AMD.
    Legacy,
}

/// Platform and name of a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceRule {
    /// By profiler version, warp size or name.
    Any,
    /// By `roctracer_version` or warp size; an AMD GPU without a name is an MI300X.
    Mi300x,
}

/// This product's own rules.
pub const PERFDB: Rules = Rules {
    name: "perfdb",
    classes: ClassTable::Perfdb,
    phases: PhaseRule::AtLaunch,
    layers: LayerRule::PerPass,
    frames: FrameRule::AtLaunch,
    zero_stacks: ZeroStacks::NoLimit,
    ratio: RatioRule::Totals,
    comparison: ComparisonRule::Exact,
    device: DeviceRule::Any,
};

/// The numbers of wafer-core 0.1.33.
pub const WAFER_0_1_33: Rules = Rules {
    name: "0.1.33",
    classes: ClassTable::Wafer0133,
    phases: PhaseRule::AtKernel { prefill_tokens: 1 },
    layers: LayerRule::Markers,
    frames: FrameRule::AtFirstKernel,
    zero_stacks: ZeroStacks::NoStacks,
    ratio: RatioRule::Totals,
    comparison: ComparisonRule::Legacy,
    device: DeviceRule::Mi300x,
};

/// The numbers of wafer-core 0.1.35.
pub const WAFER_0_1_35: Rules = Rules {
    name: "0.1.35",
    classes: ClassTable::Wafer0135,
    phases: PhaseRule::AtKernel { prefill_tokens: 1024 },
    layers: LayerRule::CorrelationGroups,
    zero_stacks: ZeroStacks::NoLimit,
    ratio: RatioRule::Averages,
    ..WAFER_0_1_33
};

impl Rules {
    /// True for the rule sets of wafer-core.
    pub fn is_legacy(&self) -> bool {
        self.comparison == ComparisonRule::Legacy
    }
}

impl Default for Rules {
    fn default() -> Self {
        PERFDB
    }
}
