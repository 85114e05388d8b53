//! Two GPU traces of the same workload, operation by operation: classification, phases, layers, alignment, fusion.
//!
//! ```
//! use perfdb_tracediff::{CompareOptions, LoadOptions, Trace, compare};
//!
//! let load = |name: &str, kernels: &str| {
//!     let text = format!(r#"{{"traceEvents": [{kernels}]}}"#);
//!     Trace::from_reader(name, std::io::Cursor::new(text), &LoadOptions::default())
//! };
//! let first = load("amd.json", r#"{"cat": "kernel", "name": "Cijk_A", "ts": 0, "dur": 30}"#)?;
//! let second = load("nvidia.json", r#"{"cat": "kernel", "name": "nvjet_A", "ts": 0, "dur": 20}"#)?;
//! let result = compare(&first, &second, &CompareOptions::default())?;
//! assert_eq!(result.operations[0].operation, "Dense GEMM");
//! assert_eq!(result.operations[0].trace2_over_trace1, Some(20.0 / 30.0));
//! # Ok::<(), perfdb_tracediff::Error>(())
//! ```
#![forbid(unsafe_code)]

mod align;
mod architecture;
mod classify;
mod collectives;
mod columns;
mod compare;
mod confidence;
mod context;
mod copies;
mod corrections;
mod device;
mod document;
mod elapsed;
mod error;
mod explain;
mod family;
mod frames;
mod fusion;
mod groups;
mod late_host;
mod launch_counts;
mod lead;
mod legacy;
mod load;
mod measured;
mod name_marks;
mod occupancy;
mod one_trace;
mod overlaps;
mod pairing;
mod pairs;
pub mod ranks;
mod read;
mod regression;
mod remedy;
mod result;
mod rooflines;
mod rows;
mod rules;
mod run_variation;
mod runs;
mod same_kernels;
mod steps;
mod structure;
mod summary;
mod time_order;
mod totals;
mod trace;
mod trust;
mod unknown;
mod warnings;
mod workload;

pub use perfdb_trace::time;
use perfdb_trace::{id, names};

pub use align::{KernelPair, LayerAlignment};
pub use architecture::Architecture;
pub use classify::{Operation, Registry, Vendor, classify};
pub use collectives::CollectiveCall;
pub use compare::{CompareOptions, compare};
pub use confidence::{Confidence, Mix, OperationVerdict, Verdict};
pub use context::passes::Boundaries;
pub use context::repetition::FoundPasses;
pub use device::{Device, Platform};
pub use document::{
    AlignedDocument, Alignment, Analysis, AnalysisOptions, Details, Document, FORMAT_VERSION, FullDocument, Overview,
    PlainDocument, View, analyse, sections,
};
pub use elapsed::{
    ColdStart, CopyTotal, DeviceElapsed, Elapsed, ElapsedReport, LargeGap, NextStep, PartsMs, PerCall, PhasePasses,
    TraceElapsed, WaterfallKind, WaterfallRow, WindowElapsed,
};
pub use error::Error;
pub use explain::{Coverage, Difference, Explanation, FamilyDifference, Parts, Share, UnmatchedKernel};
pub use fusion::{FusionAnalysis, FusionOpportunity, FusionSummary};
pub use groups::{EventRow, GroupRow, Strip, StripRow, events, windows};
pub use launch_counts::{
    CorrelationId, FusionMapping, GlobalCount, LaunchCountMetadata, LaunchCountOpportunity, LaunchCounts,
};
pub use legacy::aligned_result::{
    AlignedLayer, AlignedMetadata, AlignedPair, LegacyAlignment, LegacyFull, LegacyFusion, LegacyFusionMapping,
    LegacyFusionOpportunity, LegacyFusionSummary, LegacySameKernel, LegacySameKernelSummary, LegacySameKernels,
    LegacyWarning, PhaseBreakdown,
};
pub use legacy::result::{LegacyComparison, LegacyLayer, LegacyMetadata, LegacyOperation, LegacySides};
pub use load::LoadOptions;
pub use measured::{LeftOut, Measured, MeasuredOptions, MeasuredTable, Reason, measured};
pub use one_trace::{
    Advice, ClassRow, CollectiveRow, CopyCount, DeviceTracks, Idle, KernelRow, KindOfStep, LayerFamily, LayersRow,
    LeadRow, OneTrace, OperatorRow, Selection, Slice, StepRow, explain, kinds, listed, piece, tracks,
};
pub use pairs::{Format, LoadedPair, PairList, PairSettings, PairSpec, run_pairs};
pub use regression::{Baseline, Regression};
pub use remedy::{Caution, Remedy};
pub use result::{
    Comparison, KernelTotal, LayerRow, Metadata, OperationRow, Status, UnknownKernel, UnmatchedOperation, Warning,
};
pub use rooflines::{OperatorCall, RooflineRow, Rooflines, open_devices, operator_calls};
pub use rules::Rules;
pub use run_variation::RunVariation;
pub use runs::{
    CommonVariation, KindOfSteps, LeftOutStep, OutlierRun, RowKind, Run, RunsOptions, RunsReport, RunsRow, Step, Times,
    compare_runs, find_runs, is_stored, stored_runs,
};
pub use same_kernels::{SameKernel, SameKernelAnalysis, SameKernelSummary};
pub use steps::{Basis, Phase, PhaseFilter, UnknownName};
pub use trace::Trace;
pub use trust::{TraceTrust, Trust, TrustFinding};
