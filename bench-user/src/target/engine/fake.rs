//! An engine without containers, for tests: a unix socket that answers from a function, and what it
//! was asked.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::mpsc;
use std::thread;

use tempfile::TempDir;

use super::Engine;

/// A fake engine; it listens for as long as the test program runs.
pub(in crate::target) struct Fake {
    pub(in crate::target) engine: Engine,
    asked: mpsc::Receiver<(String, String)>,
    _folder: TempDir,
}

impl Fake {
    /// One that answers each request, as `METHOD /path?query`, with a status and a body; `None` ends
    /// the connection at once.
    pub(in crate::target) fn start(
        answer: impl Fn(&str) -> Option<(u16, &'static str)> + Send + 'static,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("engine.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let (tell, asked) = mpsc::channel();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                // A probe of the socket asks nothing and has gone.
                let Some((line, body)) = request(&stream) else { continue };
                let is_version = line.contains("/version");
                let given = if is_version {
                    Some((200, r#"{"ApiVersion":"1.40"}"#))
                } else {
                    answer(&line)
                };
                if !is_version {
                    tell.send((line, body)).ok();
                }
                let Some((status, text)) = given else { continue };
                let head = "Content-Type: application/json\r\nConnection: close";
                let length = text.len();
                write!(
                    stream,
                    "HTTP/1.1 {status} x\r\n{head}\r\nContent-Length: {length}\r\n\r\n{text}"
                )
                .ok();
            }
        });
        Self { engine: Engine { socket }, asked, _folder: folder }
    }

    /// Every request until now, with its body.
    pub(in crate::target) fn asked(&self) -> Vec<(String, String)> {
        self.asked.try_iter().collect()
    }
}

/// The first line without its version, the API's version in the path left out, and the body.
fn request(stream: &UnixStream) -> Option<(String, String)> {
    let mut reader = BufReader::new(stream);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line.trim().is_empty() {
            break;
        }
        head.push(line.trim().to_owned());
    }
    let (method, path) = head.first()?.strip_suffix(" HTTP/1.1")?.split_once(' ')?;
    let path = path.strip_prefix("/v1.40").unwrap_or(path);
    let header = |name: &str| {
        head.iter().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    };
    let body = if header("transfer-encoding").is_some() {
        chunks(&mut reader)
    } else {
        let mut body = vec![0; header("content-length").map_or(0, |n| n.parse().unwrap())];
        reader.read_exact(&mut body).ok()?;
        body
    };
    Some((format!("{method} {path}"), String::from_utf8_lossy(&body).into_owned()))
}

fn chunks(reader: &mut impl std::io::BufRead) -> Vec<u8> {
    let mut whole = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let length = usize::from_str_radix(line.trim(), 16).unwrap();
        let mut chunk = vec![0; length + 2];
        reader.read_exact(&mut chunk).unwrap();
        whole.extend_from_slice(&chunk[..length]);
        if length == 0 {
            return whole;
        }
    }
}
