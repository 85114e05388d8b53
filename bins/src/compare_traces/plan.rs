//! From options to what is to be done, checked for contradictions.

use perfdb_doctor::Code;
use perfdb_model::roofline::Devices;
use perfdb_report::layout::Layout;
use perfdb_report::tracediff::{CsvTable, TextOptions, csv, json, text};
use perfdb_store::near_name::nearest;
use perfdb_tracediff::{
    Analysis, AnalysisOptions, CompareOptions, Document, Format, LoadOptions, PairSettings, PhaseFilter, Registry,
    Rules, RunVariation, View, sections,
};
use std::path::PathBuf;

/// Legacy rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Compat {
    /// wafer-core 0.1.33
    #[value(name = "0.1.33")]
    V0133,
    /// wafer-core 0.1.35
    #[value(name = "0.1.35")]
    V0135,
}

/// Options that hold for every pair.
#[derive(Debug, Clone, Default)]
pub struct Common {
    /// Legacy rules.
    pub compat: Option<Compat>,
    /// User patterns.
    pub registry: Option<Registry>,
    /// Where they were read from.
    pub registry_file: Option<PathBuf>,
    /// Whether the table is that of operators by their shapes.
    pub shapes: bool,
    /// Devices of the user.
    pub devices: Devices,
    /// Where they are read from.
    pub devices_file: Option<PathBuf>,
    /// Whether the difference is explained.
    pub explain: bool,
    /// Whether verdicts stay out.
    pub no_confidence: bool,
    /// What runs of the same thing vary by.
    pub run_variation: RunVariation,
    /// Whether launch counts are compared.
    pub fusion: bool,
    /// Smallest group of launch counts.
    pub min_group_size: usize,
    /// Whether impossible durations are cut.
    pub clip_overlaps: bool,
    /// Whether no layer of the model has a window.
    pub unwindowed: bool,
    /// Findings that would be errors and are none.
    pub accept: Vec<Code>,
    /// Top-level keys to keep.
    pub sections: Option<Vec<String>>,
    /// Whether kernel lists are left out.
    pub no_kernels: bool,
    /// Whether the text report is whole.
    pub show_all: bool,
    /// Whether text lists the kernels of operations.
    pub list_kernels: bool,
    /// Whether the text report shows stacks.
    pub stack_traces: bool,
    /// How the text report is laid out.
    pub layout: Layout,
}

/// What is to be done with one pair.
#[derive(Debug, Clone)]
pub struct Plan {
    /// How the traces are compared.
    pub analysis: AnalysisOptions,
    /// Form of the output.
    pub format: Format,
    table: CsvTable,
    text: TextOptions,
    sections: Option<Vec<String>>,
}

impl Common {
    /// How traces are loaded, with that many threads for each.
    pub fn load_options(&self, stacks: bool, threads: usize) -> LoadOptions {
        LoadOptions {
            rules: self.rules(),
            stacks,
            registry: self.registry.clone().unwrap_or_default(),
            clip_overlaps: self.clip_overlaps,
            unwindowed: self.unwindowed,
            collective_kinds: true,
            accept: self.accept.clone(),
            threads,
            ..LoadOptions::default()
        }
    }

    fn rules(&self) -> Rules {
        match self.compat {
            None => Rules::Perfdb,
            Some(Compat::V0133) => Rules::Wafer0133,
            Some(Compat::V0135) => Rules::Wafer0135,
        }
    }

    /// What the settings of a pair come to, or why they contradict each other.
    ///
    /// # Errors
    /// A sentence that names the options.
    pub fn plan(&self, settings: &PairSettings) -> Result<Plan, String> {
        self.check(settings)?;
        let is = |setting: Option<bool>| setting.unwrap_or(false);
        let (aligned, full, layers) = (is(settings.aligned), is(settings.full), is(settings.layers));
        let view = match (self.fusion, full, aligned) {
            (true, _, _) => View::LaunchCounts,
            (_, true, _) => View::Full,
            (_, _, true) => View::Aligned,
            _ => View::Plain,
        };
        let only_json = view != View::Plain || self.compat.is_some();
        let format = settings.format.unwrap_or(if only_json { Format::Json } else { Format::Text });
        let threshold_ms = settings.threshold_ms;
        let table = match (self.explain, layers) {
            _ if self.shapes => CsvTable::Shapes,
            (true, _) => CsvTable::Explanation,
            (_, true) => CsvTable::Layers,
            _ => CsvTable::Operations,
        };
        Ok(Plan {
            analysis: AnalysisOptions {
                view,
                compare: CompareOptions {
                    phase: settings.phase.unwrap_or_default(),
                    max_stacks: settings.max_stacks.unwrap_or(3),
                    threshold_ms,
                    labels: [settings.label1.clone(), settings.label2.clone()],
                    kernels: format != Format::Json || !self.no_kernels,
                },
                explain: self.explain,
                confidence: !self.no_confidence,
                run_variation: self.run_variation,
                min_group_size: self.min_group_size,
                devices: self.devices.clone(),
            },
            format,
            table,
            text: TextOptions {
                show_all: self.show_all,
                stack_traces: self.stack_traces,
                layers,
                kernels: self.list_kernels,
                shapes: self.shapes,
                threshold_ms,
                layout: self.layout,
            },
            sections: self.sections.clone(),
        })
    }

    fn check(&self, settings: &PairSettings) -> Result<(), String> {
        let is = |setting: Option<bool>| setting.unwrap_or(false);
        let compat = self.compat.is_some();
        let old = self.compat == Some(Compat::V0135);
        let (aligned, full) = (is(settings.aligned), is(settings.full));
        let text = settings.format == Some(Format::Text);
        let csv = settings.format == Some(Format::Csv);
        let json = match settings.format {
            Some(format) => format == Format::Json,
            None => compat || aligned || full || self.fusion,
        };
        let table = text || settings.format == Some(Format::Csv);
        let threshold = settings.threshold_ms.is_some_and(|limit| !limit.is_finite() || limit < 0.0);
        let contradictions = [
            (threshold, "--threshold-ms must be a number of at least 0"),
            (table && aligned, "--aligned gives JSON, not --format text or csv"),
            (table && full, "--full gives JSON, not --format text or csv"),
            (table && self.fusion, "--fusion gives JSON, not --format text or csv"),
            (compat && text, "--compat gives JSON or CSV, not --format text"),
            (compat && settings.phase == Some(PhaseFilter::Mixed), "--compat knows no --phase mixed"),
            (compat && self.registry_file.is_some(), "--compat takes no --registry"),
            (compat && self.explain, "--compat has no --explain"),
            (compat && self.no_confidence, "--compat has no --no-confidence"),
            (compat && self.clip_overlaps, "--compat has no --clip-overlaps"),
            (self.explain && self.fusion, "--fusion has no --explain"),
            (csv && self.explain && is(settings.layers), "--format csv writes one table: --explain or --layers"),
            (csv && self.shapes && self.explain, "--format csv writes one table: --explain or --shapes"),
            (csv && self.shapes && is(settings.layers), "--format csv writes one table: --layers or --shapes"),
            (json && self.shapes, "--shapes is about text and CSV, JSON has the shapes anyway"),
            (compat && self.shapes, "--compat has no --shapes"),
            (csv && self.show_all, "--all is about text, not --format csv"),
            (csv && self.list_kernels, "--kernels is about text, not --format csv"),
            (json && self.list_kernels, "--kernels is about text, JSON has the kernels anyway"),
            (csv && self.stack_traces, "--stack-traces is about text, not --format csv"),
            (json && is(settings.layers), "--layers is about text and CSV, JSON has the layers anyway"),
            (json && self.show_all, "--all is about text, JSON has everything anyway"),
            (json && self.stack_traces, "--stack-traces is about text, JSON has the stacks anyway"),
            (!json && self.sections.is_some(), "--sections is about JSON"),
            (!json && self.no_kernels, "--no-kernels is about JSON"),
            (full && aligned, "--full has all that --aligned has: give one of them"),
            (self.fusion && full, "--fusion is a document of its own, without --full"),
            (self.fusion && aligned, "--fusion is a document of its own, without --aligned"),
            (compat && !self.accept.is_empty(), "--compat takes no --accept"),
            (old && aligned, "--compat 0.1.35 has no --aligned"),
            (old && full, "--compat 0.1.35 has no --full"),
            (old && is(settings.no_stacks), "--compat 0.1.35 has no --no-stacks"),
        ];
        match contradictions.into_iter().find(|(holds, _)| *holds) {
            Some((_, reason)) => Err(reason.to_owned()),
            None => self.sections.iter().flatten().try_for_each(|name| self.check_section(name)),
        }
    }

    /// A name of a section that no run under these rules writes is a mistake.
    fn check_section(&self, name: &str) -> Result<(), String> {
        let known = sections(self.rules());
        if known.contains(&name) {
            return Ok(());
        }
        let near = nearest(name, known.iter().copied(), str::to_lowercase);
        let near = near.map_or_else(String::new, |near| format!(" (did you mean {near}?)"));
        Err(format!("--sections: {name:?} is not a section{near}"))
    }
}

impl Plan {
    /// The output.
    pub fn render(&self, analysis: &Analysis) -> String {
        match self.format {
            Format::Json => json(&analysis.document, self.sections.as_deref()),
            Format::Csv => self.csv(&analysis.document),
            Format::Text => text(&analysis.document, &self.text),
        }
    }

    /// The table.
    pub fn csv(&self, document: &Document) -> String {
        csv(document, self.table)
    }
}
