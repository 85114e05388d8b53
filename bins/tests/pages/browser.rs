//! Chromium without a window, over the pipes of its DevTools protocol.

use serde_json::{Value, json};
use std::error::Error;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use tempfile::TempDir;

/// A browser that does not answer for so long has failed.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running browser with one tab.
pub(crate) struct Browser {
    child: Child,
    requests: File,
    answers: Receiver<Value>,
    session: String,
    number: u64,
    /// What the pages said on the console, and errors.
    complaints: Vec<String>,
    _folder: TempDir,
}

/// The program; `None`, with a line that says so, where there is none.
fn program() -> Option<&'static str> {
    let runs = |name: &&str| {
        let output = Command::new(name).arg("--version").stdin(Stdio::null()).output();
        output.is_ok_and(|output| output.status.success())
    };
    let found = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(runs);
    if found.is_none() {
        println!("skipped: Chromium is not installed");
    }
    found
}

impl Browser {
    /// Starts one; `None` where none is installed.
    pub(crate) fn start() -> Result<Option<Browser>, Box<dyn Error>> {
        let Some(program) = program() else { return Ok(None) };
        let folder = TempDir::new()?;
        let (requests, answers) = (folder.path().join("requests"), folder.path().join("answers"));
        if !Command::new("mkfifo").args([&requests, &answers]).status()?.success() {
            return Err("mkfifo failed".into());
        }
        // Opened for both directions, so that opening does not wait for the other side.
        let open = |path: &Path| OpenOptions::new().read(true).write(true).open(path);
        let (request_file, answer_file) = (open(&requests)?, open(&answers)?);
        let child = Command::new("sh")
            .args(["-c", r#"exec "$0" "$@" 3<"$REQUESTS" 4>"$ANSWERS""#, program])
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"])
            .args(["--no-first-run", "--disable-extensions", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
            .env("REQUESTS", &requests)
            .env("ANSWERS", &answers)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(answer_file).split(0) {
                let Some(value) = message.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()) else { break };
                if sender.send(value).is_err() {
                    break;
                }
            }
        });
        let mut browser = Browser {
            child,
            requests: request_file,
            answers: receiver,
            session: String::new(),
            number: 0,
            complaints: Vec::new(),
            _folder: folder,
        };
        let target = browser.ask("Target.createTarget", json!({"url": "about:blank"}))?;
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        browser.session = text_of(&browser.ask("Target.attachToTarget", attach)?["sessionId"]);
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            browser.ask(domain, json!({}))?;
        }
        Ok(Some(browser))
    }

    /// Sends a request and waits for its answer.
    pub(crate) fn ask(&mut self, method: &str, parameters: Value) -> Result<Value, Box<dyn Error>> {
        self.number += 1;
        let mut request = json!({"id": self.number, "method": method, "params": parameters});
        if !self.session.is_empty() {
            request["sessionId"] = self.session.as_str().into();
        }
        self.requests.write_all(request.to_string().as_bytes())?;
        self.requests.write_all(&[0])?;
        loop {
            let message = self.next()?;
            if message["id"] == self.number {
                return match message.get("error") {
                    Some(error) => Err(format!("{method}: {error}").into()),
                    None => Ok(message["result"].clone()),
                };
            }
        }
    }

    fn next(&mut self) -> Result<Value, Box<dyn Error>> {
        let message = self.answers.recv_timeout(PATIENCE)?;
        let parameters = &message["params"];
        match message["method"].as_str() {
            Some("Runtime.exceptionThrown") => self.complaints.push(parameters["exceptionDetails"].to_string()),
            Some("Runtime.consoleAPICalled") => self.complaints.push(parameters["args"].to_string()),
            Some("Log.entryAdded") => self.complaints.push(parameters["entry"]["text"].to_string()),
            _ => {}
        }
        Ok(message)
    }

    /// Opens a file and waits until it has loaded.
    pub(crate) fn open(&mut self, page: &Path) -> Result<(), Box<dyn Error>> {
        let url = format!("file://{}", page.display());
        self.ask("Page.navigate", json!({"url": url}))?;
        while self.evaluate("document.readyState + ' ' + location.href")? != format!("complete {url}") {}
        self.settle()
    }

    /// Waits until the page has been drawn twice, so that what an action leads to has happened.
    pub(crate) fn settle(&mut self) -> Result<(), Box<dyn Error>> {
        self.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")?;
        Ok(())
    }

    /// The value of an expression in the page.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Result<Value, Box<dyn Error>> {
        let asked = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let answer = self.ask("Runtime.evaluate", asked)?;
        match answer.get("exceptionDetails") {
            Some(error) => Err(format!("{expression}: {error}").into()),
            None => Ok(answer["result"]["value"].clone()),
        }
    }

    /// Clicks with the mouse on the middle of what a selector finds first.
    pub(crate) fn click(&mut self, selector: &str) -> Result<(), Box<dyn Error>> {
        let selector = Value::from(selector);
        let place = self.evaluate(&format!(
            "(() => {{ const found = document.querySelector({selector}); found.scrollIntoView({{block: 'center'}});
             const box = found.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; }})()"
        ))?;
        self.settle()?;
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
            let event = json!({"type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1});
            self.ask("Input.dispatchMouseEvent", event)?;
        }
        self.settle()
    }

    /// Types into what has the focus.
    pub(crate) fn enter(&mut self, text: &str) -> Result<(), Box<dyn Error>> {
        self.ask("Input.insertText", json!({"text": text}))?;
        self.settle()
    }

    /// Presses a key that has a name.
    pub(crate) fn press(&mut self, key: &str) -> Result<(), Box<dyn Error>> {
        for kind in ["keyDown", "keyUp"] {
            self.ask("Input.dispatchKeyEvent", json!({"type": kind, "key": key, "code": key}))?;
        }
        self.settle()
    }

    /// How wide and tall the window is, in pixels.
    pub(crate) fn resize(&mut self, width: u32, height: u32) -> Result<(), Box<dyn Error>> {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.ask("Emulation.setDeviceMetricsOverride", size)?;
        self.settle()
    }

    /// Shows the page on a medium (`screen`, `print`) in a scheme (`light`, `dark`).
    pub(crate) fn show_on(&mut self, medium: &str, scheme: &str) -> Result<(), Box<dyn Error>> {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.ask("Emulation.setEmulatedMedia", json!({"media": medium, "features": features}))?;
        self.settle()
    }

    /// A picture of what is in the window, as WebP in base 64.
    pub(crate) fn picture(&mut self) -> Result<String, Box<dyn Error>> {
        Ok(text_of(&self.ask("Page.captureScreenshot", json!({"format": "webp", "quality": 75}))?["data"]))
    }

    /// What pages have complained about since the last time.
    pub(crate) fn complaints(&mut self) -> Vec<String> {
        std::mem::take(&mut self.complaints)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.ask("Browser.close", json!({}));
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
