//! Options that a run hands on to a program that it starts.

use std::ffi::OsString;

use clap::Args;
use perfdb_replay::settings::RunSettings;
use perfdb_store::Semantics;

use super::arguments::InvalidRowsMode;
use super::{DispatchArguments, OutputArguments, ReplayArguments};

/// Options of DispatchFFNCombine as the tools for all operators spell them.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "DispatchFFNCombine")]
pub struct DispatchPrefixedArguments {
    /// Ranks that share the experts [default: 16]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub dispatch_ffn_combine_ep_size: Option<i64>,

    /// Processes on each node [default: the EP size]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub dispatch_ffn_combine_nproc_per_node: Option<i64>,

    /// Number of nodes [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub dispatch_ffn_combine_nnodes: Option<i64>,

    /// Number of this node [default: 0]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub dispatch_ffn_combine_node_rank: Option<i64>,

    /// Address of node 0 [default: 127.0.0.1]
    #[arg(long, value_name = "A")]
    pub dispatch_ffn_combine_master_addr: Option<String>,

    /// Port on node 0 [default: a free one on a single node]
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub dispatch_ffn_combine_master_port: Option<i64>,
}

impl From<&DispatchPrefixedArguments> for DispatchArguments {
    fn from(prefixed: &DispatchPrefixedArguments) -> DispatchArguments {
        DispatchArguments {
            ep_size: prefixed.dispatch_ffn_combine_ep_size,
            nproc_per_node: prefixed.dispatch_ffn_combine_nproc_per_node,
            nnodes: prefixed.dispatch_ffn_combine_nnodes,
            node_rank: prefixed.dispatch_ffn_combine_node_rank,
            master_addr: prefixed.dispatch_ffn_combine_master_addr.clone(),
            master_port: prefixed.dispatch_ffn_combine_master_port,
            ..DispatchArguments::default()
        }
    }
}

impl DispatchPrefixedArguments {
    /// What stands before the names that op-replay has for them.
    pub const PREFIX: &'static str = "dispatch-ffn-combine-";

    /// Their names, without dashes.
    pub const NAMES: [&'static str; 6] = [
        "dispatch-ffn-combine-ep-size",
        "dispatch-ffn-combine-nproc-per-node",
        "dispatch-ffn-combine-nnodes",
        "dispatch-ffn-combine-node-rank",
        "dispatch-ffn-combine-master-addr",
        "dispatch-ffn-combine-master-port",
    ];

    /// Those that were given, as op-replay spells them.
    pub fn for_op_replay(&self) -> Vec<OsString> {
        let mut out = Vec::new();
        push(&mut out, "--ep-size", self.dispatch_ffn_combine_ep_size);
        push(&mut out, "--nproc-per-node", self.dispatch_ffn_combine_nproc_per_node);
        push(&mut out, "--nnodes", self.dispatch_ffn_combine_nnodes);
        push(&mut out, "--node-rank", self.dispatch_ffn_combine_node_rank);
        push(&mut out, "--master-addr", self.dispatch_ffn_combine_master_addr.as_ref());
        push(&mut out, "--master-port", self.dispatch_ffn_combine_master_port);
        out
    }
}

fn push(out: &mut Vec<OsString>, name: &str, value: Option<impl ToString>) {
    if let Some(value) = value {
        out.extend([name.into(), value.to_string().into()]);
    }
}

impl ReplayArguments {
    /// Those that were given, without the backend.
    pub fn given(&self) -> Vec<OsString> {
        let mut out: Vec<OsString> = Vec::new();
        push(&mut out, "--warmup", self.warmup);
        push(&mut out, "--seed", self.seed);
        push(&mut out, "--rows-of-shard", self.rows_of_shard);
        for (is_given, name) in [(self.fresh_inputs, "--fresh-inputs"), (self.reuse_inputs, "--reuse-inputs")] {
            out.extend(is_given.then(|| name.into()));
        }
        let mode = self.invalid_rows.map(|mode| match mode {
            InvalidRowsMode::Auto => "auto",
            InvalidRowsMode::Drop => "drop",
            InvalidRowsMode::Keep => "keep",
        });
        push(&mut out, "--invalid-rows", mode);
        if self.semantics == Semantics::Corrected {
            out.extend(["--semantics".into(), "corrected".into()]);
        }
        push(&mut out, "--case-timeout", self.case_timeout);
        push(&mut out, "--worker-start-timeout", self.worker_start_timeout);
        push(&mut out, "--max-restarts", self.max_restarts);
        push(&mut out, "--worker-line-limit", self.worker_line_limit);
        if let Some(worker) = &self.worker {
            let mut option = OsString::from("--worker=");
            option.push(worker);
            out.push(option);
        }
        if let Some(python) = &self.python {
            out.extend(["--python".into(), python.clone()]);
        }
        push(&mut out, "--threads", self.threads);
        push(&mut out, "--num-devices", self.num_devices);
        if !self.devices.is_empty() {
            let devices: Vec<String> = self.devices.iter().map(ToString::to_string).collect();
            push(&mut out, "--devices", Some(devices.join(",")));
        }
        out
    }
}

/// Arguments of a child op-replay besides operator, database and rows.
pub fn child_arguments(replay: &ReplayArguments, files: &OutputArguments, settings: &RunSettings) -> Vec<OsString> {
    let mut out: Vec<OsString> = vec!["--backend".into(), settings.backend.name().into()];
    out.extend(replay.given());
    out.extend(["--output".into(), settings.output.clone().into()]);
    out.extend(["--run-id".into(), settings.run_id.clone().into()]);
    if let Some(journal) = &files.journal {
        out.extend(["--journal".into(), journal.clone().into()]);
    }
    out.extend(files.msprof.then(|| "--msprof".into()));
    push(&mut out, "--lock-timeout", Some(files.lock.lock_timeout.as_secs_f64()));
    out
}
