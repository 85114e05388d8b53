//! Options of DispatchFFNCombine.

use clap::Args;
use perfdb_replay::operator::PlanOptions;
use perfdb_replay::settings::{Launch, RunSettings};

use super::ranges::port;
use super::variables::rank_of_launcher;
use crate::Failure;

/// Options of DispatchFFNCombine as op-replay spells them.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "DispatchFFNCombine only")]
pub struct DispatchArguments {
    /// Ranks that share the experts [default: 16]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub ep_size: Option<i64>,

    /// Spread tokens evenly over the experts (the default)
    #[arg(long, overrides_with = "no_balanced")]
    pub balanced: bool,

    /// Spread tokens at random
    #[arg(long, overrides_with = "balanced")]
    pub no_balanced: bool,

    /// Largest number of rows that a rank's experts may receive [default: 65536]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub max_output_size: Option<i64>,

    /// Processes on each node [default: the EP size]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub nproc_per_node: Option<i64>,

    /// Number of nodes [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub nnodes: Option<i64>,

    /// Number of this node [default: 0]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub node_rank: Option<i64>,

    /// Address of node 0 [default: 127.0.0.1]
    #[arg(long, value_name = "A")]
    pub master_addr: Option<String>,

    /// Port on node 0 [default: a free one on a single node]
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub master_port: Option<i64>,
}

impl DispatchArguments {
    /// Whether any of them was given.
    pub fn is_given(&self) -> bool {
        self.ep_size.is_some()
            || self.balanced
            || self.no_balanced
            || self.max_output_size.is_some()
            || self.nproc_per_node.is_some()
            || self.nnodes.is_some()
            || self.node_rank.is_some()
            || self.master_addr.is_some()
            || self.master_port.is_some()
    }

    /// Puts them into the settings of a run. `prefix` stands before their names on this tool's command line.
    pub fn apply(&self, settings: &mut RunSettings, prefix: &str) -> Result<(), Failure> {
        let integer = |name: &str, value, least| super::ranges::integer(&format!("{prefix}{name}"), value, least);
        let defaults = PlanOptions::default();
        settings.dispatch = PlanOptions {
            ep_size: integer("ep-size", self.ep_size, 1)?.unwrap_or(defaults.ep_size),
            balanced: !self.no_balanced,
            max_output_size: integer("max-output-size", self.max_output_size, 1)?
                .map_or(defaults.max_output_size, u64::from),
            semantics: settings.dispatch.semantics,
        };
        let launch = Launch::default();
        settings.launch = Launch {
            per_node: integer("nproc-per-node", self.nproc_per_node, 1)?,
            nodes: integer("nnodes", self.nnodes, 1)?.unwrap_or(launch.nodes),
            node_rank: integer("node-rank", self.node_rank, 0)?.unwrap_or(launch.node_rank),
            master_addr: self.master_addr.clone().unwrap_or(launch.master_addr),
            master_port: port(&format!("{prefix}master-port"), self.master_port)?,
            rank_of_launcher: rank_of_launcher(),
        };
        Ok(())
    }
}
