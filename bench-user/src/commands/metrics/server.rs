//! Takes connections of scrapers and answers `GET /metrics`, in OpenMetrics text for those that
//! accept it, else in the text format 0.0.4. Knows nothing of what is observed.

use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{ACCEPT, ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::Semaphore;

use super::Scrapes;

/// Media type of OpenMetrics; what stands behind it in the header is a version or a weight.
const OPENMETRICS: &str = "application/openmetrics-text";
const OPENMETRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const TEXT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";

/// Connections at a time; further ones wait to be accepted.
const CONNECTIONS: usize = 32;

/// A connection without a whole head for so long is closed.
const HEAD: Duration = Duration::from_secs(10);

/// A scraper waits no longer: Prometheus gives up after 10 s where nobody set it otherwise.
const ANSWER: Duration = Duration::from_secs(9);

/// Starts the thread.
pub(super) fn start(listener: TcpListener, scrapes: Scrapes) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let listener = {
        let _inside = runtime.enter();
        tokio::net::TcpListener::from_std(listener)?
    };
    let thread = std::thread::Builder::new().name("metrics".into());
    thread.spawn(move || runtime.block_on(accept(&listener, &scrapes)))?;
    Ok(())
}

async fn accept(listener: &tokio::net::TcpListener, scrapes: &Scrapes) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    while let Ok(permit) = room.clone().acquire_owned().await {
        let Ok((stream, _)) = listener.accept().await else {
            // Too many open files, or a peer that has gone: both pass.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let scrapes = scrapes.clone();
        tokio::spawn(async move {
            let service = service_fn(|request| answer(request, scrapes.clone()));
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(HEAD);
            // A scraper that breaks off is no concern of the observation.
            drop(http.serve_connection(TokioIo::new(stream), service).await);
            drop(permit);
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    scrapes: Scrapes,
) -> Result<Response<Full<Bytes>>, Infallible> {
    if request.uri().path() != "/metrics" {
        return Ok(plain(StatusCode::NOT_FOUND, "metrics are at /metrics\n"));
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut refused = plain(StatusCode::METHOD_NOT_ALLOWED, "metrics are read with GET\n");
        refused.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return Ok(refused);
    }
    let accept = request.headers().get_all(ACCEPT);
    let is_open = accept.iter().any(|value| {
        value.to_str().is_ok_and(|value| value.to_ascii_lowercase().contains(OPENMETRICS))
    });
    let shown = tokio::time::timeout(ANSWER, scrapes.ask()).await;
    let Ok(Ok(shown)) = shown else {
        return Ok(plain(StatusCode::SERVICE_UNAVAILABLE, "nothing is observed any more\n"));
    };
    Ok(if is_open {
        response(StatusCode::OK, OPENMETRICS_TYPE, shown.openmetrics())
    } else {
        response(StatusCode::OK, TEXT_TYPE, shown.text())
    })
}

fn plain(status: StatusCode, text: &str) -> Response<Full<Bytes>> {
    response(status, PLAIN, text.to_owned())
}

fn response(status: StatusCode, kind: &'static str, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{SocketAddr, TcpStream};
    use std::sync::atomic::{AtomicBool, Ordering};

    use bench_user::ladder::{Interrupt, Waited};
    use bench_user::measured::Measured;
    use bench_user::observe::{Count, Sample, Syscalls};
    use bench_user::target::{TargetHandle, TargetKind};

    use super::super::Endpoint;

    fn target() -> TargetHandle {
        TargetHandle {
            name: "web".into(),
            kind: TargetKind::Pid,
            urls: Vec::new(),
            cgroup: Measured::Value("/sys/fs/cgroup/web".into()),
            controllers: std::collections::BTreeMap::new(),
            main_pid: Some(7),
        }
    }

    /// So many calls of `read`.
    fn sample(reads: u64) -> Sample {
        let mut sample = Sample::empty("not looked at");
        let by_name = [("read".to_owned(), Count::over(reads, 1))].into();
        sample.syscalls =
            Measured::Value(Syscalls { total: reads, by_name, ..Syscalls::default() });
        sample
    }

    fn ask(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        let head = format!("{request}Host: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn a_scrape_is_answered_by_the_thread_that_observes_in_the_format_it_accepts() {
        let endpoint = Endpoint::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let (address, interrupt) = (endpoint.address, Interrupt::default());
        let mut metrics = endpoint.serve(&target(), &interrupt).unwrap();
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut reads = 0;
                while !is_done.load(Ordering::Relaxed) {
                    assert_eq!(interrupt.wait_until_or_nudge(u64::MAX), Waited::Nudged);
                    metrics.answer(|| {
                        reads += 7;
                        Some(sample(reads))
                    });
                }
            });
            let text = ask(address, "GET /metrics HTTP/1.1\r\n");
            assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
            assert!(text.contains("content-type: text/plain; version=0.0.4; charset=utf-8\r\n"));
            assert!(text.contains("\nbench_syscalls_total{target=\"web\",syscall=\"read\"} 7\n"));
            let accept = "Accept: application/openmetrics-text;version=1.0.0;q=0.5,*/*;q=0.1\r\n";
            let open = ask(address, &format!("GET /metrics HTTP/1.1\r\n{accept}"));
            assert!(open.contains("content-type: application/openmetrics-text; version=1.0.0;"));
            assert!(open.contains("# TYPE bench_syscalls counter\n"), "{open}");
            assert!(open.ends_with("# EOF\n"), "{open}");
            let head = ask(address, "HEAD /metrics HTTP/1.1\r\n");
            assert!(head.starts_with("HTTP/1.1 200 OK") && head.ends_with("\r\n\r\n"), "{head}");
            assert!(ask(address, "GET / HTTP/1.1\r\n").starts_with("HTTP/1.1 404 "));
            assert!(ask(address, "POST /metrics HTTP/1.1\r\n").starts_with("HTTP/1.1 405 "));
            is_done.store(true, Ordering::Relaxed);
            interrupt.nudge();
        });
    }

    #[test]
    fn a_port_that_is_taken_is_said_with_the_remedy() {
        let taken = Endpoint::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let error = Endpoint::bind(taken.address).err().unwrap();
        let said = format!("{error:#}");
        let expect = format!("cannot serve metrics at {}: name another port", taken.address);
        assert!(said.starts_with(&expect) && said.contains("in use"), "{said}");
    }
}
