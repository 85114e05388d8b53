//! Other ways to start the ranks.

use crate::case::{Case, TestResult, expect_parts, expect_status, python};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

const ARGUMENTS: &str = "--do-run --backend gloo --bench-mode event --ops all_reduce all_to_all --num-devices 4 2 \
                         --grid-shape 2 2 --bytes-grid 1024 --iters 5 --warmup 1";

fn free_port() -> Result<String, std::io::Error> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port().to_string())
}

/// Two nodes of two ranks, both on this machine. Rows are those of node 0.
pub(crate) fn two_nodes() -> TestResult {
    let case = Case::new()?;
    let port = free_port()?;
    let node = |rank: &str| -> Command {
        let mut command = case.tool("generate-comm-microbench");
        command.args(ARGUMENTS.split_whitespace()).args(["--output-dir", &format!("node{rank}"), "--results-dir"]);
        command.arg(format!("results{rank}")).env("NNODES", "2").env("NODE_RANK", rank).env("GLOO_SOCKET_IFNAME", "lo");
        command.env("MASTER_ADDR", "127.0.0.1").env("MASTER_PORT", &port);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let second = node("1").spawn()?;
    let first = node("0").output()?;
    let second = second.wait_with_output()?;
    expect_status(&first, 0)?;
    expect_status(&second, 0)?;
    assert_eq!(case.rows(Path::new("node0/hcom_allReduce_.csv"))?.len(), 2);
    assert!(!case.path("node1").exists());
    Ok(())
}

/// Started once per rank by torchrun, as the old command line was.
pub(crate) fn inside_a_running_launcher() -> TestResult {
    let case = Case::new()?;
    let bench = case.tool("generate-comm-microbench");
    let mut command = case.command(&python());
    // The redirects are for torch 1 under Python 3.11, and do no harm elsewhere.
    command.args(["-m", "torch.distributed.run", "--nproc_per_node", "4", "--master_port", &free_port()?]);
    command.args(["--redirects", "1", "--tee", "1", "--log_dir"]).arg(case.path("logs")).arg("--no_python");
    command.arg(bench.get_program()).args(ARGUMENTS.split_whitespace()).args(["--output-dir", "out"]);
    let output = command.env("GLOO_SOCKET_IFNAME", "lo").env("TMPDIR", case.path("")).output()?;
    expect_status(&output, 0)?;
    expect_parts(&output.stdout, &["busbw"])?;
    assert_eq!(case.rows(Path::new("out/hcom_alltoallv_.csv"))?.len(), 2);
    let left: Vec<_> = std::fs::read_dir(case.path(""))?.flatten().map(|entry| entry.file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with("perfdb-comm")), "{left:?}");
    Ok(())
}
