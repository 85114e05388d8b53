//! How a plan is to be run.

use crate::backend::Backend;
use crate::error::Error;
use std::path::PathBuf;
use std::time::Duration;

/// What starts the ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Launcher {
    /// torchrun, and on a single node the bench itself where torchrun does not get a rank going.
    #[default]
    Auto,
    Torchrun,
    /// The bench itself.
    Direct,
}

/// The nodes of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nodes {
    /// Number of nodes.
    pub count: u64,
    /// This node, from 0.
    pub rank: u64,
    /// Address of node 0.
    pub master_addr: String,
    /// Port on node 0; `None` = a free one (single node only).
    pub master_port: Option<u16>,
    /// Ranks on this node; `None` = as few as the plan needs.
    pub nproc: Option<u64>,
}

impl Default for Nodes {
    fn default() -> Self {
        Self { count: 1, rank: 0, master_addr: "127.0.0.1".into(), master_port: None, nproc: None }
    }
}

impl Nodes {
    /// Puts together options and variables, as texts; an option goes before its variable. Each pair is (option, variable).
    pub fn new(
        nnodes: (Option<String>, Option<String>),
        node_rank: (Option<String>, Option<String>),
        master_addr: (Option<String>, Option<String>),
        master_port: (Option<String>, Option<String>),
        nproc: (Option<String>, Option<String>),
    ) -> Result<Self, Error> {
        let count = number(nnodes, "nnodes", "NNODES")?.unwrap_or((1, "nnodes"));
        if count.0 == 0 {
            return Err(Error::usage(count.1, "0: there is at least one node"));
        }
        let nproc = number(nproc, "nproc", "NPROC")?;
        if let Some((0, name)) = nproc {
            return Err(Error::usage(name, "0: a node has at least one rank"));
        }
        let rank = number(node_rank, "node_rank", "NODE_RANK")?.unwrap_or((0, "node_rank"));
        if rank.0 >= count.0 {
            return Err(Error::usage(rank.1, format!("{}: must be below the number of nodes, {}", rank.0, count.0)));
        }
        let port = number(master_port, "master_port", "MASTER_PORT")?;
        let port = match port {
            None => None,
            Some((port, name)) => match u16::try_from(port) {
                Ok(port) if port > 0 => Some(port),
                _ => return Err(Error::usage(name, format!("{port}: a port is 1 to 65535"))),
            },
        };
        let addr = first(master_addr);
        if count.0 > 1 {
            for (missing, name) in [(addr.is_none(), "master_addr"), (port.is_none(), "master_port")] {
                if missing {
                    return Err(Error::usage(name, "needed with several nodes, the same on all of them"));
                }
            }
        }
        Ok(Self {
            count: count.0,
            rank: rank.0,
            master_addr: addr.unwrap_or_else(|| "127.0.0.1".into()),
            master_port: port,
            nproc: nproc.map(|(nproc, _)| nproc),
        })
    }

    /// Ranks on each node, for a plan that needs `world` ranks in all.
    pub(crate) fn nproc_for(&self, world: u64) -> u64 {
        self.nproc.unwrap_or_else(|| world.div_ceil(self.count))
    }
}

fn first(texts: (Option<String>, Option<String>)) -> Option<String> {
    texts.0.or(texts.1.filter(|text| !text.is_empty()))
}

/// The number, and what it came from.
fn number(
    texts: (Option<String>, Option<String>),
    option: &'static str,
    variable: &'static str,
) -> Result<Option<(u64, &'static str)>, Error> {
    match texts {
        (Some(text), _) => parse_count(option, &text).map(|number| Some((number, option))),
        (None, Some(text)) if !text.is_empty() => parse_count(variable, &text).map(|number| Some((number, variable))),
        _ => Ok(None),
    }
}

/// Which rank this process is when another launcher has started it, once per rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankOfLauncher {
    /// Rank in the world.
    pub rank: u64,
    /// Ranks of the world.
    pub world_size: u64,
    /// Rank on this node.
    pub local_rank: u64,
    /// Ranks on this node.
    pub local_world_size: u64,
    /// Port of the launcher's store; with the parent process it names the folder that the ranks of a node share.
    pub master_port: String,
}

impl RankOfLauncher {
    /// Reads the launcher's variables; `None` unless all of `RANK`, `WORLD_SIZE`, `MASTER_ADDR` and `MASTER_PORT` are set.
    pub fn new(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, Error> {
        let variable = |name: &str| variable(name).filter(|text| !text.is_empty());
        let (Some(rank), Some(world_size), Some(_), Some(master_port)) =
            (variable("RANK"), variable("WORLD_SIZE"), variable("MASTER_ADDR"), variable("MASTER_PORT"))
        else {
            return Ok(None);
        };
        let world_size = parse_count("WORLD_SIZE", &world_size)?;
        let rank = parse_count("RANK", &rank)?;
        if rank >= world_size {
            return Err(Error::usage("RANK", format!("{rank}: must be below WORLD_SIZE, {world_size}")));
        }
        let or = |name: &str, default: u64| variable(name).map_or(Ok(default), |text| parse_count(name, &text));
        Ok(Some(Self {
            rank,
            world_size,
            local_rank: or("LOCAL_RANK", 0)?,
            local_world_size: or("LOCAL_WORLD_SIZE", world_size)?,
            master_port,
        }))
    }
}

/// How a plan is to be run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Engine; `None` = by what the machine has.
    pub backend: Option<Backend>,
    /// What starts the ranks.
    pub launcher: Launcher,
    /// Nodes and ranks.
    pub nodes: Nodes,
    /// Set when another launcher has started this process.
    pub rank_of_launcher: Option<RankOfLauncher>,
    /// Timed calls per point (event timing).
    pub iters: u64,
    /// Calls per point before any timing.
    pub warmup: u64,
    /// Stop sampling a point after this long; `None` = 30 s on gloo, never elsewhere.
    pub point_budget: Option<Duration>,
    /// Longest wait for any one collective.
    pub timeout: Duration,
    /// Folder for plan, worker and raw results; `None` = a temporary one, removed on success.
    pub results_dir: Option<PathBuf>,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            backend: None,
            launcher: Launcher::Auto,
            nodes: Nodes::default(),
            rank_of_launcher: None,
            iters: 100,
            warmup: 20,
            point_budget: None,
            timeout: Duration::from_secs(600),
            results_dir: None,
        }
    }
}

/// Reads an integer of 0 or more, in digits alone, from an option or variable.
pub(crate) fn parse_count(name: &str, text: &str) -> Result<u64, Error> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(number) if digits => Ok(number),
        _ => Err(Error::usage(name, format!("{:?} is not an integer of 0 or more", text))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Pair = (Option<&'static str>, Option<&'static str>);

    fn nodes(nnodes: Pair, rank: Pair, addr: Pair, port: Pair, nproc: Pair) -> Result<Nodes, String> {
        let own = |pair: Pair| (pair.0.map(str::to_owned), pair.1.map(str::to_owned));
        Nodes::new(own(nnodes), own(rank), own(addr), own(port), own(nproc)).map_err(|error| {
            assert!(error.is_usage(), "{error}");
            error.to_string()
        })
    }

    const NONE: Pair = (None, None);

    #[test]
    fn options_go_before_variables_and_empty_variables_are_unset() {
        let found =
            nodes((Some("2"), Some("9")), (None, Some("1")), (Some("a"), None), (None, Some("29500")), NONE).unwrap();
        assert_eq!((found.count, found.rank, found.master_addr.as_str(), found.master_port), (2, 1, "a", Some(29500)));
        assert_eq!(nodes((None, Some("")), NONE, NONE, NONE, (None, Some(""))).unwrap(), Nodes::default());
    }

    #[test]
    fn what_cannot_be_right_is_named() {
        let error = |result: Result<Nodes, String>| result.unwrap_err();
        assert!(error(nodes((None, Some("abc")), NONE, NONE, NONE, NONE)).starts_with("NNODES: \"abc\""));
        assert!(error(nodes((Some("0"), None), NONE, NONE, NONE, NONE)).starts_with("nnodes: 0"));
        assert!(error(nodes(NONE, (None, Some("1")), NONE, NONE, NONE)).starts_with("NODE_RANK: 1"));
        assert!(error(nodes((Some("2"), None), NONE, NONE, (Some("1"), None), NONE)).starts_with("master_addr"));
        assert!(error(nodes((Some("2"), None), NONE, (Some("a"), None), NONE, NONE)).starts_with("master_port"));
        assert!(error(nodes(NONE, NONE, NONE, (None, Some("70000")), NONE)).starts_with("MASTER_PORT: 70000"));
        assert!(error(nodes(NONE, NONE, NONE, NONE, (Some("0"), None))).starts_with("nproc: 0"));
    }

    #[test]
    fn ranks_are_shared_out_over_the_nodes() {
        let two = Nodes { count: 2, ..Nodes::default() };
        assert_eq!((two.nproc_for(4), two.nproc_for(5), Nodes::default().nproc_for(3)), (2, 3, 3));
    }

    #[test]
    fn a_running_launcher_is_recognised_by_all_four_variables() {
        let with = |pairs: &'static [(&'static str, &'static str)]| {
            RankOfLauncher::new(|name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
        };
        let pairs =
            &[("RANK", "3"), ("WORLD_SIZE", "4"), ("MASTER_ADDR", "h"), ("MASTER_PORT", "1"), ("LOCAL_RANK", "1")];
        let found = with(pairs).unwrap().unwrap();
        assert_eq!((found.rank, found.world_size, found.local_rank, found.local_world_size), (3, 4, 1, 4));
        assert_eq!(with(&[("MASTER_PORT", "1"), ("MASTER_ADDR", "h")]).unwrap(), None);
        assert!(with(&[("RANK", "4"), ("WORLD_SIZE", "4"), ("MASTER_ADDR", "h"), ("MASTER_PORT", "1")]).is_err());
    }
}
