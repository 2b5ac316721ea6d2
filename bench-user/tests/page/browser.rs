//! A headless Chromium, spoken to in its DevTools protocol: JSON over a WebSocket, both of which the
//! program has anyway. The crates for it (`headless_chrome`, `chromiumoxide`) compile the whole
//! protocol of one version, and refuse the messages of another.

use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

/// Names under which distributions have it.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// A browser that says nothing for so long is given up.
const SILENCE: Duration = Duration::from_secs(60);

/// Where a browser is; `None` where there is none.
pub(crate) fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let places = std::env::split_paths(&path);
    places.flat_map(|folder| NAMES.map(|name| folder.join(name))).find(|program| program.is_file())
}

/// A running browser with one page at a time.
pub(crate) struct Browser {
    child: Child,
    /// Open until the end, because it writes on.
    _stderr: BufReader<ChildStderr>,
    _profile: TempDir,
    runtime: Runtime,
    socket: WebSocketStream<TcpStream>,
    /// Of the last call.
    id: u64,
    session: Option<String>,
    /// What the page told by itself since it was opened.
    events: Vec<Value>,
}

impl Browser {
    /// Starts one with a profile of its own.
    pub(crate) fn start(program: &Path) -> io::Result<Self> {
        let profile = tempfile::tempdir()?;
        let mut child = Command::new(program)
            // Root has no sandbox; nothing but our own page is opened.
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"])
            .args(["--no-first-run", "--disable-background-networking", "--disable-sync"])
            .args(["--disable-component-update", "--remote-debugging-port=0"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let stderr = child.stderr.take().expect("it was asked for");
        let mut stderr = BufReader::new(stderr);
        let address = address(&mut stderr)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let socket = runtime.block_on(connect(&address))?;
        let (events, session) = (Vec::new(), None);
        Ok(Self {
            child,
            _stderr: stderr,
            _profile: profile,
            runtime,
            socket,
            id: 0,
            session,
            events,
        })
    }

    /// Opens a file in a new page of this width, in the light or the dark scheme, and waits until it
    /// is there.
    pub(crate) fn open(&mut self, file: &Path, width: u32, scheme: &str) {
        self.session = None;
        self.events.clear();
        let page = self.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let to = json!({ "targetId": page["targetId"], "flatten": true });
        let session = self.call("Target.attachToTarget", &to);
        self.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network", "DOM", "Accessibility"] {
            self.call(&format!("{domain}.enable"), &json!({}));
        }
        let scheme = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", &json!({ "features": scheme }));
        let size =
            json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", &size);
        let url = url::Url::from_file_path(file).expect("an absolute path");
        self.call("Page.navigate", &json!({ "url": url.as_str() }));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            self.receive();
        }
    }

    /// What the page told with this name since it was opened.
    pub(crate) fn told(&mut self, method: &str) -> Vec<Value> {
        // Whatever was on its way comes before the answer to this.
        self.evaluate("0");
        self.events.iter().filter(|e| e["method"] == method).map(|e| e["params"].clone()).collect()
    }

    /// The value of an expression, or of its promise.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let what = json!({
            "expression": expression, "returnByValue": true, "awaitPromise": true, "userGesture": true,
        });
        let answer = self.call("Runtime.evaluate", &what);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Presses and releases a key.
    pub(crate) fn press(&mut self, key: &str) {
        let (code, text) = match key {
            " " => (32, " "),
            "Enter" => (13, "\r"),
            "Tab" => (9, ""),
            "ArrowRight" => (39, ""),
            _ => panic!("no such key here: {key}"),
        };
        let event = |kind: &str| {
            json!({
                "type": kind, "key": key, "code": if key == " " { "Space" } else { key },
                "windowsVirtualKeyCode": code, "text": text,
            })
        };
        self.call("Input.dispatchKeyEvent", &event("keyDown"));
        self.call("Input.dispatchKeyEvent", &json!({ "type": "keyUp", "key": key }));
    }

    /// One call of the protocol, of the page where there is one.
    pub(crate) fn call(&mut self, method: &str, params: &Value) -> Value {
        self.id += 1;
        let mut call = json!({ "id": self.id, "method": method, "params": params });
        if let Some(session) = &self.session {
            call["sessionId"] = session.as_str().into();
        }
        let sent = self.runtime.block_on(self.socket.send(Message::text(call.to_string())));
        sent.unwrap_or_else(|e| panic!("{method}: {e}"));
        loop {
            if let Some(answer) = self.receive() {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
        }
    }

    /// Takes one message: the answer to the last call, or an event, which is kept.
    fn receive(&mut self) -> Option<Value> {
        let next = async { tokio::time::timeout(SILENCE, self.socket.next()).await };
        let message = self.runtime.block_on(next).expect("the browser says something");
        let message = message.expect("the browser runs").expect("a whole message");
        let Message::Text(text) = message else { return None };
        let value: Value = serde_json::from_str(&text).expect("the protocol is JSON");
        if value["id"] == self.id {
            return Some(value);
        }
        let session = value["sessionId"].as_str();
        if session.is_some() && session == self.session.as_deref() {
            self.events.push(value);
        }
        None
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Its other processes end with it; a profile that is still written to could not be removed.
        self.session = None;
        self.id += 1;
        let close = json!({ "id": self.id, "method": "Browser.close" }).to_string();
        let closed = self.runtime.block_on(self.socket.send(Message::text(close)));
        if closed.is_err() {
            let _gone = self.child.kill();
        }
        let _ended = self.child.wait();
    }
}

/// Where it listens, which it says on its standard error.
fn address(stderr: &mut BufReader<ChildStderr>) -> io::Result<String> {
    let mut said = String::new();
    loop {
        let mut line = String::new();
        if stderr.read_line(&mut line)? == 0 {
            return Err(io::Error::other(format!("the browser ended: {said}")));
        }
        if let Some(address) = line.trim().strip_prefix("DevTools listening on ") {
            return Ok(address.to_owned());
        }
        said += &line;
    }
}

async fn connect(address: &str) -> io::Result<WebSocketStream<TcpStream>> {
    let url = url::Url::parse(address).map_err(io::Error::other)?;
    let port = url.port().ok_or_else(|| io::Error::other("an address without a port"))?;
    let stream = TcpStream::connect(("127.0.0.1", port)).await?;
    let (socket, _response) =
        tokio_tungstenite::client_async(address, stream).await.map_err(io::Error::other)?;
    Ok(socket)
}
