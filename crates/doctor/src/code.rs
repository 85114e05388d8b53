//! The codes of findings: what each one spoils, and what a repair does about it.

use std::fmt;
use std::str::FromStr;

macro_rules! codes {
    ($($code:ident $name:literal $effect:literal, $repair:expr;)*) => {
        /// What can be wrong with a trace, or worth knowing about it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = concat!("`", $name, "`: ", $effect)] $code,)*
        }

        impl Code {
            /// All codes.
            pub const ALL: &'static [Code] = &[$(Code::$code),*];

            /// The name that stands in reports.
            pub fn name(self) -> &'static str {
                match self { $(Code::$code => $name,)* }
            }

            /// What it means for the results, in a few words.
            pub fn effect(self) -> &'static str {
                match self { $(Code::$code => $effect,)* }
            }

            /// What a repair does about it; `None` where nothing can be fixed without inventing something.
            pub fn repair(self) -> Option<&'static str> {
                match self { $(Code::$code => $repair,)* }
            }
        }
    };
}

codes! {
    LfsPointer "LFS_POINTER" "a Git LFS pointer stands here instead of the data; run git lfs pull", None;
    EmptyFile "EMPTY_FILE" "there is no data", None;
    NotATrace "NOT_A_TRACE" "neither a chrome trace nor a kernel table; there is no data", None;
    GzipTruncated "GZIP_TRUNCATED" "the gzip stream breaks off: what follows is missing, totals are too small", Some("keep what was there");
    GzipCorrupt "GZIP_CORRUPT" "the gzip stream is damaged: what follows the fault is missing", Some("keep all before the fault");
    GzipTrailing "GZIP_TRAILING" "something that is not a gzip member follows the gzip stream; it is not read", Some("drop it");
    Utf16 "UTF16" "UTF-16 text: most tools cannot read it", Some("recode as UTF-8");
    ByteOrderMark "BYTE_ORDER_MARK" "a byte-order mark stands in front: most tools refuse the file", Some("drop it");
    InvalidUtf8 "INVALID_UTF8" "bytes that are not UTF-8: names differ between tools", Some("replace each bad piece by U+FFFD");
    ControlCharacters "CONTROL_CHARACTERS" "raw control characters: most tools refuse the file", Some("write them as escapes, drop them in tables");
    BareNonfinite "BARE_NONFINITE" "words such as nan stand where a value belongs: they count as missing", Some("write null");
    DuplicateKeys "DUPLICATE_KEYS" "an object has one key twice with different values; the last one counts", Some("keep the last one");
    TruncatedJson "TRUNCATED_JSON" "the document ends too early: events are missing, totals are too small", Some("close it behind the last whole event");
    MalformedJson "MALFORMED_JSON" "part of the document is no JSON: the events there are missing", Some("drop the damaged events");
    TrailingData "TRAILING_DATA" "something follows the document; it is not read", Some("cut it off");
    BadEvents "BAD_EVENTS" "events without usable name or time, that only begin or end, or that are not events, are not counted", Some("drop what is no object");
    TextTimes "TEXT_TIMES" "times written as text count as missing", Some("write plain decimals as numbers");
    NoKernels "NO_KERNELS" "there is nothing to compare", None;
    Secrets "SECRETS" "this trace holds environment variables that look like secrets: do not pass it on, and replace them", None;
    OldCategories "OLD_CATEGORIES" "categories of an old profiler, read as the present ones", Some("rename them");
    IntegerClock "INTEGER_CLOCK" "whole microseconds: each kernel is off by up to one", None;
    NegativeDuration "NEGATIVE_DURATION" "events that end before they begin are not counted", None;
    WrongUnit "WRONG_UNIT" "times are in another unit than microseconds: all figures are off by a factor of 1000", None;
    TimeBackwards "TIME_BACKWARDS" "the host clock went back: spans, gaps and steps are wrong", None;
    DeviceOrder "DEVICE_ORDER" "the device clock went back: spans and gaps are wrong", None;
    KernelBeforeLaunch "KERNEL_BEFORE_LAUNCH" "kernels start before their launch, or sooner after it than any device can: the clocks differ, host-late times and phases are wrong", None;
    KernelAfterSync "KERNEL_AFTER_SYNC" "kernels end after the host waited for them: the clocks differ", None;
    DeviceStall "DEVICE_STALL" "the device stood still with work waiting: its clock jumped, or it was held from outside", None;
    ColdStart "COLD_START" "calls set up what comes first while the device stood still: record after a warm-up, or leave that time out", None;
    ClockJump "CLOCK_JUMP" "nothing happened for very long: the clock jumped, or traces were joined", None;
    StartsInBacklog "STARTS_IN_BACKLOG" "the queue of the device was full at the start", None;
    DuplicateEvents "DUPLICATE_EVENTS" "the same event stands there more than once: it would count more than once", Some("drop the later ones");
    LaunchTwice "LAUNCH_TWICE" "one launch owns one kernel more than once: counted twice, or a wrong correlation", None;
    ZeroDuration "ZERO_DURATION" "kernels without a duration: their time is missing", None;
    OverlapPdl "OVERLAP_PDL" "programmatic dependent launch: a kernel is resident and waits for the one before it", None;
    OverlapImpossible "OVERLAP_IMPOSSIBLE" "kernels of one stream overlap that cannot: durations are too long", None;
    OverlapGraphBranches "OVERLAP_GRAPH_BRANCHES" "parallel branches of a graph: the sum of durations is above the elapsed time", None;
    NoCorrelation "NO_CORRELATION" "kernels without a correlation have neither phase nor host operator", None;
    LostBuffer "LOST_BUFFER" "launches in a row have no kernels: a buffer of the profiler was lost, totals are too small", None;
    LostKernels "LOST_KERNELS" "launches have no kernels: totals are too small", None;
    EndsEarly "ENDS_EARLY" "the last launches have no kernels: the last step is not whole", None;
    CapturedLaunches "CAPTURED_LAUNCHES" "launches inside a graph capture run nothing", None;
    LostLaunches "LOST_LAUNCHES" "kernels without their launch have neither phase nor host operator", None;
    StartsMidStep "STARTS_MID_STEP" "the first kernels were launched before the trace began: they belong to the step before", None;
    NoLaunches "NO_LAUNCHES" "host calls are missing: no phases, no host operators", None;
    RecordedLess "RECORDED_LESS" "graph replays lack kernels that others have: records were dropped", None;
    NamesShifted "NAMES_SHIFTED" "names slid against durations: times per kernel and per class are wrong, totals hold", None;
    ExternalIdImpossible "EXTERNAL_ID_IMPOSSIBLE" "External ids name operators that were not running: nesting in time decides instead", None;
    SharedExternalId "SHARED_EXTERNAL_ID" "several operators share an External id: the innermost one decides", None;
    DoubleCollective "DOUBLE_COLLECTIVE" "collectives stand there twice: they would count twice", None;
    WaitingCollectives "WAITING_COLLECTIVES" "collectives wait for other devices: their time is no speed", None;
    SkewedStart "SKEWED_START" "a collective among the first kernels waits for devices that started later", None;
    StepsOverlap "STEPS_OVERLAP" "steps overlap: what lies in both is filed under the later one", None;
    StepMissing "STEP_MISSING" "steps are missing: forward passes are missing", None;
    NoSteps "NO_STEPS" "no step is annotated: everything counts as one pass", None;
    EmptySteps "EMPTY_STEPS" "steps that launched nothing", None;
    NsysCut "NSYS_CUT" "the file holds less than half of the recording: times count from the start of the session", None;
    NsysDiagnostic "NSYS_DIAGNOSTIC" "nsys reported problems while it recorded", None;
    GraphCollapsed "GRAPH_COLLAPSED" "CUDA graphs are one row each, without their kernels: record with --cuda-graph-trace=node", None;
    NoSource "NO_SOURCE" "operators without a source: analytic figures stand in for measured ones", None;
    NoKernelType "NO_KERNEL_TYPE" "operators without a kernel type cannot be compared", None;
    CompositeSum "COMPOSITE_SUM" "composite operators do not last as long as their parts", None;
    LayerCounts "LAYER_COUNTS" "a layer has other operators than the rest: something is lost or doubled", None;
    ProcessMismatch "PROCESS_MISMATCH" "the processes do not run the same operators", None;
    MissingColumns "MISSING_COLUMNS" "columns are missing: what depends on them cannot be checked", None;
    DuplicateColumns "DUPLICATE_COLUMNS" "a column name stands there twice; the last one counts", None;
    RaggedRows "RAGGED_ROWS" "rows have more or fewer cells than the header", None;
    BadNumbers "BAD_NUMBERS" "rows whose start or duration is not a number are not counted", None;
    TimesRounded "TIMES_ROUNDED" "starts were rounded, as spreadsheets do: what depends on them is not checked", None;
    AicpuRows "AICPU_ROWS" "kernels that ran on the AI CPU", None;
    BadWait "BAD_WAIT" "waiting times that cannot be", None;
    MixedDevices "MIXED_DEVICES" "rows of several devices: sums mix them", None;
    SeveralPasses "SEVERAL_PASSES" "more than one forward pass", None;
    StepGap "STEP_GAP" "a long gap: more than one pass, or rows are missing", None;
    RowsUnordered "ROWS_UNORDERED" "rows are not in order of start", None;
}

impl Code {
    /// Whether findings of this code never make the trust low: the tools correct it, or it is true of the run.
    pub(crate) fn never_low(self) -> bool {
        use Code::*;
        matches!(
            self,
            OverlapPdl
                | ExternalIdImpossible
                | DuplicateEvents
                | DoubleCollective
                | WaitingCollectives
                | SkewedStart
                | SeveralPasses
                | NoSource
                | NoKernelType
                | DuplicateKeys
                | ByteOrderMark
                | ControlCharacters
                | Utf16
        )
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A text that is no code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not a finding")]
pub struct UnknownCode(pub String);

impl FromStr for Code {
    type Err = UnknownCode;

    fn from_str(name: &str) -> Result<Code, UnknownCode> {
        Code::ALL.iter().copied().find(|code| code.name() == name).ok_or_else(|| UnknownCode(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart_and_found() {
        for code in Code::ALL {
            assert_eq!(code.name().parse(), Ok(*code));
        }
        assert_eq!("overlap_pdl".parse::<Code>(), Err(UnknownCode("overlap_pdl".to_owned())));
    }
}
