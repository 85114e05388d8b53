//! What can be wrong with the settings of a run.

use crate::backend::Backend;

/// Options of a run that cannot be, or do not go together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// No timed run at all.
    #[error("the number of timed runs must be at least 1")]
    NoTimedRuns,
    /// Several devices for a backend that has none.
    #[error("backend {0} runs on the host: it has no devices to share rows among")]
    HostHasNoDevices(Backend),
    /// A device that is not there.
    #[error("device {index} was asked for, {visible} visible for backend {backend}")]
    NoDevice {
        /// The device, counted from 0.
        index: usize,
        /// How many there are.
        visible: usize,
        /// Who runs the cases.
        backend: Backend,
    },
    /// A name of the run that is none of a file.
    #[error("the run's name {0:?} cannot be part of a file name")]
    RunId(String),
    /// msprof for a backend that measures itself.
    #[error("msprof measures backend npu, not {0}")]
    MsprofWithoutNpu(Backend),
    /// Processes that are not as many as the ranks.
    #[error(
        "{per_node} processes per node on {nodes} node(s) make {} ranks, EP size is {ep_size}",
        u64::from(*per_node) * u64::from(*nodes)
    )]
    RankCount {
        /// Processes on each node.
        per_node: u32,
        /// Number of nodes.
        nodes: u32,
        /// Ranks that share the experts.
        ep_size: u32,
    },
    /// Several nodes that have no port to meet at.
    #[error("{0} nodes need the same port of node 0 on all of them")]
    NoPort(u32),
    /// A node that is not there.
    #[error("node rank {rank} of {nodes} node(s)")]
    NodeRank {
        /// The node, counted from 0.
        rank: u32,
        /// Number of nodes.
        nodes: u32,
    },
}
