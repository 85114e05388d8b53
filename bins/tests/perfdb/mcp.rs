//! A session of `perfdb mcp`, spoken over pipes.

use super::{PERFDB, of, stderr, stdout};
use serde_json::{Value, json};
use std::error::Error;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

type Outcome = Result<(), Box<dyn Error>>;

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata").canonicalize().expect("the test data")
}

/// A server and its client.
struct Session {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Session {
    fn start(roots: &[&Path]) -> Session {
        Session::of(Path::new(PERFDB), roots)
    }

    fn of(program: &Path, roots: &[&Path]) -> Session {
        let mut child = Command::new(program)
            .arg("mcp")
            .args(roots)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a server");
        let (input, output) =
            (child.stdin.take().expect("a pipe"), BufReader::new(child.stdout.take().expect("a pipe")));
        Session { child, input, output, next: 0 }
    }

    fn write(&mut self, line: &[u8]) {
        self.input.write_all(line).expect("a server that reads");
        self.input.write_all(b"\n").expect("a server that reads");
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("UTF-8");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    fn request(&mut self, method: &str, parameters: Value) -> Value {
        self.next += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": parameters});
        self.write(request.to_string().as_bytes());
        let answer = self.read();
        assert_eq!(answer["id"], self.next, "{answer}");
        answer
    }

    /// The text of a tool, and whether it is an error.
    fn call(&mut self, tool: &str, arguments: Value) -> (String, bool) {
        let answer = self.request("tools/call", json!({"name": tool, "arguments": arguments}));
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        (text.to_owned(), answer["result"]["isError"].as_bool().expect("isError"))
    }

    fn answer(&mut self, tool: &str, arguments: Value) -> String {
        let (text, is_error) = self.call(tool, arguments);
        assert!(!is_error, "{text}");
        text
    }

    fn error(&mut self, tool: &str, arguments: Value) -> String {
        let (text, is_error) = self.call(tool, arguments);
        assert!(is_error, "{text}");
        text
    }

    fn end(self) {
        let Session { mut child, input, output, .. } = self;
        drop(input);
        assert!(child.wait().expect("a child").success());
        assert_eq!(output.lines().count(), 0);
    }
}

#[test]
fn a_session_of_an_assistant() -> Outcome {
    let mut session = Session::start(&[&testdata()]);
    let hello = session.request("initialize", json!({"protocolVersion": "2025-06-18", "capabilities": {}}));
    assert_eq!(hello["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(hello["result"]["serverInfo"]["name"], "perfdb");
    assert!(hello["result"]["instructions"].as_str().unwrap().contains("testdata"));
    session.write(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    let tools = session.request("tools/list", json!({}));
    let names: Vec<&str> =
        tools["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["trace_explain", "trace_diff", "trace_check", "db_query", "db_coverage", "pass_explain", "forecast"]
    );

    // What a tool says is what the tool says.
    let trace = testdata().join("gpu-traces/h100.json");
    let mut command = of(&["explain-trace"]);
    let alone = stdout({
        command.env("COLUMNS", "120").arg(&trace);
        command
    })?;
    assert_eq!(session.answer("trace_explain", json!({"trace": "gpu-traces/h100.json"})), alone);

    let other = testdata().join("gpu-traces/mi300x.json");
    let diff =
        session.answer("trace_diff", json!({"trace1": other, "trace2": trace, "format": "json", "max_bytes": 8000}));
    let diff: Value = serde_json::from_str(diff.lines().next().unwrap())?;
    assert!(diff["answer"]["elapsed"].is_object(), "{diff}");
    assert!(diff["more"][0]["page"].is_string(), "{diff}");

    let database = json!({
        "database": "first-database/database", "words": ["aten.mm.default", "16,5120:bf16", "5120,768:bf16"], "format": "json",
    });
    let found: Value = serde_json::from_str(session.answer("db_query", database).lines().next().unwrap())?;
    assert_eq!(found["answer"]["answer"]["hit"], true, "{found}");

    let scenario = "scenarios/qwen3_32b_decode";
    let pass = json!({"trace": format!("{scenario}/trace.json"), "pass": format!("{scenario}/forward_pass.csv"), "database": "scenarios"});
    assert!(session.answer("pass_explain", pass).contains("us"));
    let coverage = json!({"database": "first-database/database", "traces": ["demo-database/trace.json"], "no_leave_out": true, "format": "json"});
    assert!(session.answer("db_coverage", coverage).starts_with("{\"answer\":{"));
    let forecast = json!({"model": "forecast/model", "database": "forecast/tables/h100_sxm/vllm/1.0.0", "tp": "1,2", "batch": "4"});
    assert!(session.answer("forecast", forecast).contains("ms"));
    // Something found is no failure.
    assert!(!session.answer("trace_check", json!({"trace": "gpu-traces/h100.json"})).is_empty());
    session.end();
    Ok(())
}

#[test]
fn answers_have_at_most_max_bytes_and_pages_are_the_rest() -> Outcome {
    let mut session = Session::start(&[&testdata()]);
    let traces = |page: Option<&str>, most: u64| {
        json!({
            "trace1": "gpu-traces/mi300x.json", "trace2": "gpu-traces/h100.json", "format": "json", "max_bytes": most, "page": page,
        })
    };
    let whole = session.answer("trace_diff", traces(None, 1_000_000));
    let whole: Value = serde_json::from_str(whole.lines().next().unwrap())?;
    assert!(whole.get("more").is_none());
    let operations = whole["answer"]["operations"].as_array().unwrap();
    let mut page = "/operations 0".to_owned();
    let mut read = 0;
    for _ in 0..1000 {
        let answer = session.answer("trace_diff", traces(Some(&page), 3000));
        assert!(answer.len() <= 3000);
        let answer: Value = serde_json::from_str(&answer)?;
        read += answer["answer"].as_array().unwrap().len();
        let more = answer["more"].as_array().into_iter().flatten();
        let next = more.filter_map(|more| more["page"].as_str()).find(|page| page.starts_with("/operations "));
        match next {
            Some(next) => page = next.to_owned(),
            None => break,
        }
    }
    assert_eq!(read, operations.len());

    let text = session.answer("trace_explain", json!({"trace": "gpu-traces/h100.json", "max_bytes": 600}));
    assert!(text.len() <= 600 && text.contains("more lines: page \"line "), "{text}");
    let next = text.lines().last().unwrap().split('"').nth(1).unwrap().to_owned();
    let rest = session.answer("trace_explain", json!({"trace": "gpu-traces/h100.json", "page": next}));
    let whole = session.answer("trace_explain", json!({"trace": "gpu-traces/h100.json"}));
    let first: String = text.lines().filter(|line| !line.starts_with('…')).map(|line| format!("{line}\n")).collect();
    assert_eq!(first + &rest, whole);
    let wrong = session.error("trace_explain", json!({"trace": "gpu-traces/h100.json", "page": "/x 3"}));
    assert!(wrong.contains("not a page of this answer"), "{wrong}");
    session.end();
    Ok(())
}

#[test]
fn paths_stay_in_the_folders() -> Outcome {
    let folder = tempfile::tempdir()?;
    let [root, other] = ["root", "other"].map(|name| folder.path().join(name));
    for path in [&root, &other] {
        fs::create_dir(path)?;
        fs::copy(testdata().join("gpu-traces/h100.json"), path.join("a.json"))?;
    }
    std::os::unix::fs::symlink(other.join("a.json"), root.join("link.json"))?;
    let database = root.join("db");
    fs::create_dir(&database)?;
    fs::write(database.join("op_mapping.yaml"), "operator_mappings: {}\n")?;
    fs::write(other.join("secret.csv"), "Input Shapes,Duration(us)\n1,2\n")?;
    std::os::unix::fs::symlink(other.join("secret.csv"), database.join("MatMulV2.csv"))?;
    let mut session = Session::start(&[&root]);
    for path in
        ["link.json".into(), "../other/a.json".into(), other.join("a.json").display().to_string(), "/etc/passwd".into()]
    {
        let error = session.error("trace_explain", json!({"trace": path}));
        assert!(
            error.starts_with(&format!("error: trace: {path}: outside the folders that this server reads")),
            "{error}"
        );
    }
    let error = session.error("db_query", json!({"database": "db", "list": true}));
    assert!(error.contains("MatMulV2.csv: outside the folders"), "{error}");
    // Words of a call are no options: nothing is written.
    let error = session.error("db_query", json!({"database": "db", "words": ["--json=x"]}));
    assert!(error.contains("outside"), "{error}");
    fs::remove_file(database.join("MatMulV2.csv"))?;
    fs::copy(testdata().join("first-database/database/MatMulV2.csv"), database.join("MatMulV2.csv"))?;
    session.error("db_query", json!({"database": "db", "words": ["-ox.json", "1,2:bf16"]}));
    session.error("trace_explain", json!({"trace": "a.json", "step": "-ox.json"}));
    assert!(session.answer("trace_explain", json!({"trace": "a.json"})).contains("a.json"));
    session.end();
    let mut left: Vec<String> =
        fs::read_dir(&root)?.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    left.sort();
    assert_eq!(left, ["a.json", "db", "link.json"]);
    Ok(())
}

#[test]
fn errors_are_those_of_the_tools() -> Outcome {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("broken.json"), "{\"traceEvents\": [{\"ph\": ")?;
    nix::unistd::mkfifo(&folder.path().join("pipe.json"), nix::sys::stat::Mode::S_IRWXU)?;
    let mut session = Session::start(&[folder.path()]);
    assert!(session.error("trace_explain", json!({"trace": "pipe.json"})).contains("neither a file nor a folder"));
    let error = session.error("trace_explain", json!({"trace": "broken.json"}));
    let path = folder.path().canonicalize()?.join("broken.json");
    let alone = stderr(of(&["explain-trace", path.to_str().unwrap()]), 1)?;
    assert_eq!(error, alone);
    let missing = session.error("trace_explain", json!({"trace": "missing.json"}));
    assert_eq!(missing, "error: trace: missing.json: No such file or directory (os error 2)\n");
    session.end();
    let refused = stderr(of(&["mcp", "/no/such/folder"]), 1)?;
    assert!(refused.starts_with("error: /no/such/folder: cannot be served"), "{refused}");
    Ok(())
}

#[test]
fn hostile_input_ends_no_session() -> Outcome {
    let mut session = Session::start(&[&testdata()]);
    let wrong = |session: &mut Session, line: &[u8]| {
        session.write(line);
        session.read()["error"]["code"].as_i64()
    };
    assert_eq!(wrong(&mut session, b"{"), Some(-32700));
    assert_eq!(wrong(&mut session, b"\xff\xfe"), Some(-32700));
    assert_eq!(wrong(&mut session, "[".repeat(200_000).as_bytes()), Some(-32700));
    assert_eq!(wrong(&mut session, &vec![b'a'; 20 << 20]), Some(-32600));
    assert_eq!(wrong(&mut session, b"[]"), Some(-32600));
    assert_eq!(wrong(&mut session, b"{\"id\":1,\"method\":\"ping\"}"), Some(-32600));
    assert_eq!(wrong(&mut session, b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}"), Some(-32600));
    // Nobody asked for these.
    session.write(b"{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}");
    session.write(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":77}}");
    session.write(b"{\"jsonrpc\":\"2.0\",\"method\":\"no/such/notification\"}");
    assert_eq!(session.request("no/such/method", json!({}))["error"]["code"], -32601);
    assert_eq!(session.request("tools/call", json!({"name": "rm"}))["error"]["code"], -32602);
    assert_eq!(session.request("tools/call", json!("x"))["error"]["code"], -32602);
    for arguments in
        [json!([]), json!({"trace": {}}), json!({"trace": "x", "output": "y"}), json!({"trace": "a\u{0}b"})]
    {
        assert!(session.error("trace_explain", arguments).starts_with("error: "));
    }
    let newest = session.request("initialize", json!({"protocolVersion": "1999-01-01"}));
    assert_eq!(newest["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(session.request("ping", json!({}))["result"], json!({}));
    session.end();
    Ok(())
}

#[test]
fn calls_whose_client_closed_its_stream_are_answered() -> Outcome {
    let mut session = Session::start(&[&testdata()]);
    for id in 0..6 {
        let call = json!({
            "jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": "trace_check", "arguments": {"trace": "gpu-traces/h100.json"}},
        });
        session.write(call.to_string().as_bytes());
    }
    let Session { mut child, input, output, .. } = session;
    drop(input);
    let mut ids = Vec::new();
    for line in output.lines() {
        let answer: Value = serde_json::from_str(&line?)?;
        assert_eq!(answer["result"]["isError"], false);
        ids.push(answer["id"].as_u64().unwrap());
    }
    ids.sort_unstable();
    assert_eq!(ids, [0, 1, 2, 3, 4, 5]);
    assert!(child.wait()?.success());
    Ok(())
}

#[test]
fn a_cancelled_call_has_no_answer() -> Outcome {
    let folder = tempfile::tempdir()?;
    // A tool beside the program comes before the one in it; this one has no end.
    let program = folder.path().join("perfdb");
    fs::hard_link(PERFDB, &program).or_else(|_| fs::copy(PERFDB, &program).map(drop))?;
    let tool = folder.path().join("explain-trace");
    fs::write(&tool, "#!/bin/sh\nexec sleep 100000\n")?;
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755))?;
    fs::write(folder.path().join("a.json"), "{}")?;
    let mut session = Session::of(&program, &[folder.path()]);
    let call = |id: u64| {
        let parameters = json!({"name": "trace_explain", "arguments": {"trace": "a.json"}});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": parameters}).to_string()
    };
    let cancel = |id: u64| {
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}).to_string()
    };
    for id in 100..104 {
        session.write(call(id).as_bytes());
    }
    assert_eq!(session.request("ping", json!({}))["result"], json!({}));
    for id in 100..104 {
        session.write(cancel(id).as_bytes());
    }
    session.end();
    Ok(())
}

#[test]
fn the_page_for_assistants_is_installed() -> Outcome {
    let folder = tempfile::tempdir()?;
    let to = folder.path().join("new/skills");
    let printed = stdout(of(&["skill", "--to", to.to_str().unwrap()]))?;
    let page = to.join("perfdb/SKILL.md");
    assert_eq!(printed, format!("wrote {}\n", page.display()));
    assert!(fs::read_to_string(&page)?.starts_with("---\nname: perfdb\n"));
    stdout(of(&["skill", "--to", to.to_str().unwrap()]))?;
    Ok(())
}

/// With the client that its makers write, where Python has it (`pip install mcp`; PYTHON names another interpreter).
#[test]
fn the_python_client_lists_explains_compares_and_queries() -> Outcome {
    let python = std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
    let has_client = Command::new(&python).args(["-c", "import mcp"]).output().is_ok_and(|done| done.status.success());
    if !has_client {
        eprintln!("left out: there is no Python package mcp");
        return Ok(());
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/perfdb/client.py");
    let done = Command::new(&python).arg(script).arg(PERFDB).arg(testdata()).output()?;
    assert!(done.status.success() && text_of(&done.stdout) == "ok\n", "{}", text_of(&done.stderr));
    Ok(())
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
