//! The contexts of a trace's kernels, found one after the other, each from what is known already.

use super::{LoadOptions, Loading, step_pattern};
use crate::columns::Columns;
use crate::context::attention;
use crate::context::calls::{self, Calls};
use crate::context::captures::{self, CapturedShapes, Joined, Replays};
use crate::context::classes::{self, Classes, Classifier};
use crate::context::launches::Launches;
use crate::context::layers::{self, Layers};
use crate::context::operators::{self, Decision, Operators};
use crate::context::passes::{Boundaries, Found, KernelPass, PassFinder, Passes};
use crate::context::repetition::{self, FoundPasses};
use crate::corrections::Corrections;
use crate::device::CutWindows;
use crate::elapsed::events::{Events, Kernels};
use crate::elapsed::timeline::Timeline;
use crate::error::Error;
use crate::lead::Lead;
use crate::legacy;
use crate::legacy::columns::LegacyColumns;
use crate::legacy::times::LegacyTimes;
use crate::names::Names;
use crate::one_trace::facts::{self, Facts};
use crate::one_trace::shapes;
use crate::rules::Rules;
use crate::steps::Basis;
use crate::structure::{self, LayerCount, Sources, Structure};
use crate::time_order::TimeOrder;
use perfdb_doctor::Code;
use perfdb_files::parallel::AtOnce;
use perfdb_trace::profile::Kind;

/// What the kernels of a trace belong to.
pub(super) struct Contexts {
    pub(super) bounds: Bounds,
    pub(super) host: HostSide,
    pub(super) classes: Classes,
    pub(super) layers: Layers,
    pub(super) layer_count: Option<LayerCount>,
    /// How many layers all passes run.
    pub(super) layer_runs: u64,
    pub(super) lead: Lead,
    pub(super) structure: Option<Structure>,
    pub(super) timeline: Option<Timeline>,
    pub(super) facts: Option<Facts>,
    pub(super) notes: Vec<String>,
    pub(super) legacy: Option<LegacyColumns>,
}

/// Where passes begin and end.
pub(super) struct Bounds {
    pub(super) passes: Passes,
    pub(super) boundaries: Boundaries,
    /// Of passes that nobody annotated.
    pub(super) repeated: Option<FoundPasses>,
    basis: Basis,
    /// Passes that lack kernels, ascending.
    incomplete: Vec<u32>,
    /// Passes that nobody annotated and that are not steps: layers are theirs all the same.
    noted: Option<Noted>,
}

/// Passes of kernels, and those that the trace cuts.
struct Noted {
    kernels: Vec<KernelPass>,
    incomplete: Vec<u32>,
}

/// What the host says about kernels.
pub(super) struct HostSide {
    pub(super) operators: Operators,
    pub(super) calls: Calls,
    pub(super) joined: Option<Joined>,
    captured_shapes: Option<CapturedShapes>,
    /// Per kernel, whether a graph launched it; empty where none did.
    pub(super) replayed: Vec<bool>,
}

impl Contexts {
    /// Under a rule set of wafer-core.
    pub(super) fn legacy(loading: &mut Loading<'_>, times: LegacyTimes) -> Contexts {
        let Loading { options, platform, columns, kernels, names, .. } = loading;
        let LoadOptions { rules, registry, .. } = *options;
        let windows = legacy::phases::windows(&columns.annotations, &times.annotations, *rules);
        let passes = legacy::phases::find(&times.kernels, &windows);
        let operators = legacy::stacks::find(kernels, columns, &times, options.stacks, names);
        let classifier = Classifier { registry, rules: *rules, platform: *platform, given: columns };
        let classes = classes::find(kernels, &operators.of_kernels, names, classifier);
        let layers = match rules {
            Rules::Wafer0133 => legacy::layers::by_markers(kernels, &times.kernels, names, &classes.groups),
            Rules::Perfdb | Rules::Wafer0135 => legacy::layers::by_groups(kernels, names),
        };
        let legacy = LegacyColumns { times: times.kernels, labels: classes.labels.clone(), windows };
        let (calls, joined, captured_shapes, replayed) = (Calls::default(), None, None, Vec::new());
        Contexts {
            bounds: Bounds {
                passes,
                boundaries: Boundaries::Whole,
                repeated: None,
                basis: Basis::Whole,
                incomplete: Vec::new(),
                noted: None,
            },
            host: HostSide { operators, calls, joined, captured_shapes, replayed },
            classes,
            layers,
            layer_count: None,
            layer_runs: 0,
            lead: Lead::default(),
            structure: None,
            timeline: None,
            facts: None,
            notes: Vec::new(),
            legacy: Some(legacy),
        }
    }

    /// Under this product's own rules.
    pub(super) fn find(loading: &mut Loading<'_>, capture: Option<Columns>) -> Result<Contexts, Error> {
        let Loading { path, options, members, report, platform, columns, kernels, names, order, corrections, .. } =
            loading;
        let (options, columns): (&LoadOptions, &Columns) = (options, columns);
        let pattern = options.steps.as_deref().map(|pattern| step_pattern(pattern, columns, path)).transpose()?;
        let at_once = if options.threads > 1 { AtOnce::of(kernels.len()) } else { AtOnce::NEVER };
        let launches = Launches::new(columns, at_once);
        let finder = PassFinder::new(columns, kernels, &launches, pattern.as_ref());
        let devices: Vec<String> = columns.devices.keys().iter().map(|device| columns.ids.shown(*device)).collect();
        let cut = members.cut_windows(&devices);
        let mut owned = finder.find(kernels, &columns.copies, at_once);
        owned.leave_out(kernels, &columns.copies, &cut);
        let lead = Lead::take(kernels, &mut owned, corrections);
        if !lead.kernels.is_empty() {
            *order = TimeOrder::of(kernels);
        }
        let passes = finder.passes(std::mem::take(&mut owned.kernels));
        let impossible = report.as_ref().is_some_and(|report| report.finding(Code::ExternalIdImpossible).is_some());
        let decision = if impossible { Decision::ByNesting } else { Decision::ByExternalId };
        let launch_of = std::mem::take(&mut owned.launch_of);
        let (copies, sizes) = (&columns.copies, &columns.kernel_sizes);
        let replays = Replays { kernels, copies, launches: &launches, launch_of: &launch_of, sizes };
        let mut host = HostSide::find(&replays, columns, names, capture, decision, options.stacks, at_once);
        attention::resolve(&mut host.calls, kernels, &passes, &finder.lengths(), names, options.unwindowed);
        let classifier =
            Classifier { registry: &options.registry, rules: options.rules, platform: *platform, given: columns };
        let mut classes = classes::find(kernels, &host.operators.of_kernels, names, classifier);
        if options.collective_kinds {
            classes.tell_collectives(&host.operators.of_kernels, &host.calls, names);
        }
        let kinds = if options.alone {
            classes.kinds_of_collectives(&host.operators.of_kernels, &host.calls, names)
        } else {
            Vec::new()
        };
        let has_old_steps = finder.boundaries() == Boundaries::Whole && columns.has_old_steps;
        let mut bounds = Bounds::new(&finder, passes, corrections);
        // A table separates its passes itself.
        if !options.windows && !options.rules.is_legacy() && columns.written_by != Some(Kind::AscendTable) {
            let (copies, replayed) = (&columns.copies, host.replayed.as_slice());
            let sources = repetition::Sources { kernels, copies, classes: &classes, names, replayed };
            // The report on one trace has steps where they are annotated, and elsewhere only where somebody asks for them.
            bounds.find_repeated(&sources, &mut owned, !options.alone || options.repeated_passes);
        }
        let streams: Vec<String> = columns.streams.keys().iter().map(|(_, id)| columns.ids.shown(*id)).collect();
        let sources = |passes, incomplete, is_cut| {
            let (classes, streams) = (&classes, streams.as_slice());
            Sources { kernels, order, passes, classes, names, corrections, streams, is_cut, incomplete }
        };
        let is_whole = bounds.boundaries == Boundaries::Whole;
        let layered = match &bounds.noted {
            Some(noted) => sources(&noted.kernels, &noted.incomplete, false),
            None => sources(&bounds.passes.of_kernels, &bounds.incomplete, is_whole),
        };
        let sources = sources(&bounds.passes.of_kernels, &bounds.incomplete, is_whole);
        let timing =
            Timing { options, classifier, sources: &sources, lead: &lead, owned: &owned, finder: &finder, at_once };
        let layering = || {
            let shaped = options.alone.then(|| shapes::find(columns, &launches, &launch_of));
            // Only a comparison looks at the blocks again.
            (layers_of(&layered, !options.alone), shaped)
        };
        let timing = || timing.find(&bounds, devices, &cut, &replays, kinds);
        let ((layered, shaped), (timeline, facts)) = at_once.both(layering, timing);
        let (structure, layers, (layer_count, layer_runs)) = layered;
        let facts = facts.zip(shaped).map(|(facts, shaped)| facts.with(shaped, host.captured_shapes.take()));
        let old_steps = "an old profiler wrote its steps as operators: --steps '^ProfilerStep#' takes them";
        let old_steps = has_old_steps.then(|| old_steps.to_owned());
        let notes = old_steps.into_iter().chain(host.joined.and_then(|joined| joined.note())).collect();
        Ok(Contexts {
            bounds,
            host,
            classes,
            layers,
            layer_count,
            layer_runs,
            lead,
            structure,
            timeline: Some(timeline),
            facts,
            notes,
            legacy: None,
        })
    }
}

impl HostSide {
    fn find(
        replays: &Replays<'_>,
        columns: &Columns,
        names: &mut Names,
        capture: Option<Columns>,
        decision: Decision,
        with_stacks: bool,
        at_once: AtOnce,
    ) -> HostSide {
        let Replays { kernels, launches, launch_of, .. } = *replays;
        let (mut calls, mut operators) = at_once.both(
            || calls::find(kernels, columns, launches, launch_of, names),
            || operators::find(kernels, columns, launches, launch_of, decision),
        );
        if with_stacks {
            operators.find_stacks(columns, launches, launch_of, names);
        }
        let (joined, captured_shapes) = capture
            .map(|mut capture| captures::join(replays, &mut capture, with_stacks, names, &mut operators, &mut calls))
            .unzip();
        HostSide { operators, calls, joined, captured_shapes, replayed: replays.kernels_of_graphs(names) }
    }
}

impl Bounds {
    fn new(finder: &PassFinder<'_>, passes: Passes, corrections: &Corrections) -> Bounds {
        Bounds {
            boundaries: finder.boundaries(),
            repeated: None,
            basis: finder.basis(),
            incomplete: finder.incomplete(&passes, corrections),
            noted: None,
            passes,
        }
    }

    /// Takes what repeats for passes, where nothing tells them apart; else notes it.
    fn find_repeated(&mut self, sources: &repetition::Sources<'_>, owned: &mut Found, are_steps: bool) {
        if self.basis != Basis::Whole {
            return;
        }
        let Some(repetition) = repetition::find(sources) else { return };
        if !are_steps {
            self.repeated = Some(repetition.found);
            self.noted = Some(Noted { kernels: repetition.kernels, incomplete: repetition.incomplete });
            return;
        }
        let has_steps = repetition.found.decode + repetition.found.prefill > 0;
        owned.copies = repetition.copies;
        *self = Bounds {
            passes: Passes { of_kernels: repetition.kernels, count: repetition.count, has_steps },
            boundaries: Boundaries::Repetition,
            repeated: Some(repetition.found),
            basis: Basis::Pass,
            incomplete: repetition.incomplete,
            noted: None,
        };
    }
}

/// Layers, and the structure that they are found in where it is kept.
fn layers_of(sources: &Sources<'_>, keeps: bool) -> (Option<Structure>, Layers, (Option<LayerCount>, u64)) {
    let (structure, found) = structure::find(sources, keeps);
    let layers = match found.numbers {
        // Nothing repeats, for example in a very short trace: attention opens layers.
        0 => layers::find(sources.kernels, sources.order, sources.passes, sources.classes),
        count => Layers { of_kernels: found.of_kernels, count },
    };
    (structure, layers, (found.count, found.runs))
}

/// What the times of a trace are found from.
struct Timing<'a> {
    options: &'a LoadOptions,
    classifier: Classifier<'a>,
    sources: &'a Sources<'a>,
    lead: &'a Lead,
    owned: &'a Found,
    finder: &'a PassFinder<'a>,
    at_once: AtOnce,
}

impl Timing<'_> {
    fn find(
        &self,
        bounds: &Bounds,
        devices: Vec<String>,
        cut: &[CutWindows],
        replays: &Replays<'_>,
        kinds: Vec<(u32, &'static str)>,
    ) -> (Timeline, Option<Facts>) {
        let Timing { options, classifier, sources, lead, owned, finder, at_once } = *self;
        let Sources { kernels, order, passes, classes, names, .. } = *sources;
        let lead_classes = classes::find(&lead.kernels, &[], names, classifier);
        let events = Events {
            kernels: [
                Kernels { kernels, passes, launch_of: replays.launch_of, classes },
                Kernels {
                    kernels: &lead.kernels,
                    passes: &lead.passes,
                    launch_of: &lead.launch_of,
                    classes: &lead_classes,
                },
            ],
            order,
            copies: replays.copies,
            copy_passes: &owned.copies,
            launch_of_copies: &owned.launch_of_copies,
            lead_copies: &owned.is_lead_copy,
            launches: replays.launches,
            incomplete: bounds.incomplete.clone(),
            pieces: options.pieces,
        };
        let timeline = Timeline::new(&events, devices, bounds.basis, cut);
        let facts = options.alone.then(|| {
            let sources = facts::Sources {
                columns: classifier.given,
                kernels,
                order,
                passes,
                classes,
                lead,
                lead_classes: &lead_classes,
                copy_passes: &owned.copies,
                launch_of_copies: &owned.launch_of_copies,
                lead_copies: &owned.is_lead_copy,
                launches: replays.launches,
                launch_of: replays.launch_of,
                finder,
                timeline: &timeline,
            };
            let mut facts = Facts::new(&sources, at_once);
            facts.kinds = kinds;
            facts
        });
        (timeline, facts)
    }
}
