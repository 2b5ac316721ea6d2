//! The program under test as it hands on what it observes while it observes: scrapes of `/metrics`
//! and pushes by OTLP against work that is known, and against what it prints at the end.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Child, ChildStderr, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bench_user::fetch::Fetcher;
use libtest_mimic::Trial;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::{metric, number_data_point};
use prost::Message as _;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use url::Url;

use crate::place::{Place, amount, trial};
use crate::server::bench_user;
use crate::workload::Workload;

pub(crate) fn tests() -> Vec<Trial> {
    vec![
        trial("outlets::a_scrape_has_the_calls_made_so_far_and_the_end_has_them_too", scrape),
        trial("outlets::what_is_pushed_at_the_end_is_what_is_printed", push),
        trial("outlets::a_collector_that_is_gone_does_not_end_the_observation", nobody),
    ]
}

/// `observe`, killed when it is dropped.
pub(crate) struct Observer {
    child: Child,
    said: BufReader<ChildStderr>,
}

impl Observer {
    pub(crate) fn start(place: &Place, args: &[&str]) -> Result<Self> {
        Self::start_with(place, args, &[])
    }

    fn start_with(place: &Place, args: &[&str], variables: &[(&str, &str)]) -> Result<Self> {
        let mut child = bench_user()
            .envs(variables.iter().copied())
            .args(["observe", "--json", "--interval", "1h", "--cgroup"])
            .arg(&place.v2)
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let said = BufReader::new(child.stderr.take().context("piped")?);
        Ok(Self { child, said })
    }

    /// The end of the first line that begins so.
    pub(crate) fn says(&mut self, beginning: &str) -> Result<String> {
        let mut all = String::new();
        loop {
            let mut line = String::new();
            ensure!(self.said.read_line(&mut line)? > 0, "it said no `{beginning}`: {all}");
            if let Some(rest) = line.strip_prefix(beginning) {
                return Ok(rest.trim().to_owned());
            }
            all += &line;
        }
    }

    /// Ends it as Ctrl-C does; what it prints.
    pub(crate) fn end(mut self) -> Result<(Value, String)> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).context("a pid")?;
        kill_process(pid, Signal::INT)?;
        let mut printed = String::new();
        self.child.stdout.take().context("piped")?.read_to_string(&mut printed)?;
        let mut said = String::new();
        self.said.read_to_string(&mut said)?;
        let status = self.child.wait()?;
        ensure!(status.success(), "{status}: {said}");
        Ok((serde_json::from_str(&printed)?, said))
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to kill and nothing to report.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn scraped(url: &Url) -> Result<BTreeMap<String, f64>> {
    let answer = Fetcher::default().get(url, Duration::from_secs(30))?;
    ensure!(answer.status == 200, "{answer:?}");
    let kind = answer.content_type.context("a media type")?;
    ensure!(kind == "text/plain; version=0.0.4; charset=utf-8", "{kind}");
    let text = String::from_utf8(answer.body.to_vec())?;
    let samples = text.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let (name, value) = line.rsplit_once(' ').context("a name and a value")?;
        Ok((name.to_owned(), value.parse()?))
    });
    samples.collect()
}

/// A scrape with a reading of its own: one that is a moment old is handed out again.
fn newer(url: &Url, than: &BTreeMap<String, f64>) -> Result<BTreeMap<String, f64>> {
    let window = ["bench_observed_seconds_total{"];
    loop {
        let samples = scraped(url)?;
        if one(&samples, &window)? > one(than, &window)? {
            return Ok(samples);
        }
    }
}

/// The one sample whose name and labels have all these parts.
fn one(samples: &BTreeMap<String, f64>, parts: &[&str]) -> Result<f64> {
    let mut found = samples.iter().filter(|(name, _)| parts.iter().all(|p| name.contains(p)));
    let (_, value) = found.next().with_context(|| format!("{parts:?} in {samples:?}"))?;
    ensure!(found.next().is_none(), "{parts:?} are of several");
    Ok(*value)
}

fn scrape() -> Result<()> {
    let calls = amount(100_000);
    let place = Place::new(&[])?;
    let mut workload = Workload::start(&format!("getppid 2 {calls}"))?;
    place.take_in(workload.pid())?;
    let mut observer = Observer::start(&place, &["--metrics", "127.0.0.1:0"])?;
    let url: Url = observer.says("metrics at ")?.parse()?;
    observer.says("observing;")?;
    let before = scraped(&url)?;
    workload.work()?;
    let after = newer(&url, &before)?;
    let getppid = ["bench_syscalls_total{", "syscall=\"getppid\""];
    #[expect(clippy::cast_precision_loss, reason = "a small count")]
    let known = calls as f64;
    ensure!(before.keys().all(|name| !name.contains("getppid")), "none was made: {before:?}");
    ensure!(one(&after, &getppid)? == known, "{} of {known}", one(&after, &getppid)?);
    for (name, value) in before.iter().filter(|(name, _)| {
        ["_total{", "_bucket{", "_count{", "_sum{"].iter().any(|part| name.contains(part))
    }) {
        let now = after.get(name).with_context(|| format!("{name} is gone"))?;
        ensure!(now >= value, "{name} fell from {value} to {now}");
    }
    // At rest: nothing of the target happens between this scrape and the end.
    let last = newer(&url, &after)?;
    let (json, _) = observer.end()?;
    let at = |path: &str| json.pointer(path).and_then(Value::as_f64).context(path.to_owned());
    ensure!(at("/syscalls/by_name/getppid/count")? == known, "{json}");
    for (path, parts, unit) in [
        ("/sched/switches_voluntary", &["bench_context_switches_total{", "\"voluntary\""][..], 1.0),
        ("/sched/oncpu_ns", &["bench_oncpu_seconds_total{"], 1e9),
        ("/sched/runqlat_sum_ns", &["bench_runqueue_wait_seconds_total{"], 1e9),
        ("/sched/runqlat_ns/count", &["bench_runqueue_latency_seconds_count{"], 1.0),
    ] {
        let (end, scraped) = (at(path)? / unit, one(&last, parts)?);
        ensure!((end - scraped).abs() <= end * 1e-9, "{path}: {scraped} and at the end {end}");
    }
    Ok(())
}

/// Takes requests on connections of their own until it is asked for the last body.
fn collect(listener: &TcpListener) -> Result<Vec<u8>> {
    let (mut stream, _) = listener.accept()?;
    let mut request = BufReader::new(stream.try_clone()?);
    let mut length = 0;
    loop {
        let mut line = String::new();
        request.read_line(&mut line)?;
        let line = line.trim().to_ascii_lowercase();
        if let Some(n) = line.strip_prefix("content-length: ") {
            length = n.parse()?;
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    request.read_exact(&mut body)?;
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")?;
    Ok(body)
}

/// The calls of getppid in a request; none where none was counted.
fn calls_in(body: &[u8]) -> Result<i64> {
    let message = ExportMetricsServiceRequest::decode(body)?;
    let resources = message.resource_metrics.into_iter();
    let metrics = resources.flat_map(|r| r.scope_metrics).flat_map(|scope| scope.metrics);
    let mut calls = 0;
    for metric in metrics.filter(|metric| metric.name == "bench.syscalls") {
        let Some(metric::Data::Sum(sum)) = metric.data else { continue };
        for point in sum.data_points {
            let is_getppid = format!("{:?}", point.attributes).contains("getppid");
            if let (true, Some(number_data_point::Value::AsInt(n))) = (is_getppid, point.value) {
                calls = n;
            }
        }
    }
    Ok(calls)
}

fn push() -> Result<()> {
    let calls = i64::try_from(amount(100_000))?;
    let place = Place::new(&[])?;
    let mut workload = Workload::start(&format!("getppid 2 {calls}"))?;
    place.take_in(workload.pid())?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let collector = format!("http://{}", listener.local_addr()?);
    // Every millisecond, so that there are some before the end.
    let every = [("OTEL_METRIC_EXPORT_INTERVAL", "1")];
    let mut observer = Observer::start_with(&place, &["--otlp", &collector], &every)?;
    observer.says("observing;")?;
    ensure!(calls_in(&collect(&listener)?)? == 0, "none was made");
    workload.work()?;
    // Pushes that were on their way may be of before the work.
    let mut pushed = 0;
    while pushed < calls {
        let now = calls_in(&collect(&listener)?)?;
        ensure!(now >= pushed, "fell from {pushed} to {now}");
        pushed = now;
    }
    let mut last = pushed;
    let ended = std::thread::spawn(move || observer.end());
    listener.set_nonblocking(true)?;
    while !ended.is_finished() {
        match collect(&listener) {
            Ok(body) => last = calls_in(&body)?,
            Err(e) if is_empty(&e) => std::thread::yield_now(),
            Err(e) => return Err(e),
        }
    }
    let (json, said) = ended.join().map_err(|_panic| anyhow::anyhow!("it panicked"))??;
    ensure!(json["syscalls"]["by_name"]["getppid"]["count"] == calls, "{json}");
    ensure!(last == calls && !said.contains("warning"), "{last} of {calls}: {said}");
    Ok(())
}

fn is_empty(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<std::io::Error>();
    error.is_some_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
}

fn nobody() -> Result<()> {
    let place = Place::new(&[])?;
    let mut workload = Workload::start("getppid 1 1000")?;
    place.take_in(workload.pid())?;
    let gone = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let every = [("OTEL_METRIC_EXPORT_INTERVAL", "1")];
    let collector = format!("http://{gone}");
    let mut observer = Observer::start_with(&place, &["--otlp", &collector], &every)?;
    let why = observer.says("warning: no metrics were pushed, because ")?;
    ensure!(why.ends_with("; the observation goes on"), "{why}");
    workload.work()?;
    let (json, said) = observer.end()?;
    ensure!(json["syscalls"]["by_name"]["getppid"]["count"] == 1000, "{json}");
    // Once while it observed, and once for the last push.
    ensure!(said.matches("no metrics were pushed").count() == 1, "{said}");
    Ok(())
}
