//! Metrics by OTLP over HTTP: where they go by the flag and OpenTelemetry's own variables, and a
//! thread that sends them while somebody else observes.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context as _;
use bench_user::fetch::Fetcher;
use bench_user::host::HostInfo;
use bench_user::observe::Sample;
use bench_user::report::{Observation, Window};
use bench_user::target::TargetHandle;
use bench_user::{clock, report};
use bytes::Bytes;
use hyper::HeaderMap;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use url::Url;

use super::say;

/// Where a collector listens that nobody configured otherwise.
const COLLECTOR: &str = "http://127.0.0.1:4318";

/// What is appended to the address of a collector for metrics.
const PATH: &str = "v1/metrics";

/// Longest wait for a collector; the default of OpenTelemetry's exporters.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Between two pushes of an observation, where nobody asked for another time.
const INTERVAL_MS: u64 = 10_000;

/// Where metrics go.
#[derive(Debug, Clone)]
pub(super) struct Collector {
    url: Url,
    fetcher: Fetcher,
    /// What the user says of the resource (`OTEL_RESOURCE_ATTRIBUTES`).
    attributes: Vec<(String, String)>,
}

/// Reads a variable of the environment; an empty one is as good as none.
type Variable<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A variable of this process.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

impl Collector {
    /// By the value of `--otlp`, empty where it has none, and the variables of OpenTelemetry.
    ///
    /// # Errors
    /// When an address, a header or an attribute cannot be understood.
    pub(super) fn find(flag: &str, variable: Variable<'_>) -> anyhow::Result<Self> {
        let pairs = |name: &str| variable(name).map_or(Ok(Vec::new()), |text| pairs(name, &text));
        let mut headers = HeaderMap::new();
        let said = ["OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_METRICS_HEADERS"];
        for name in said {
            for (key, value) in pairs(name)? {
                let wrong = || format!("{name} has no header in `{key}={value}`");
                let key: HeaderName = key.parse().with_context(wrong)?;
                let mut value: HeaderValue = value.parse().with_context(wrong)?;
                value.set_sensitive(true);
                headers.insert(key, value);
            }
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        Ok(Self {
            url: address(flag, variable)?,
            fetcher: Fetcher::default().with_headers(headers),
            attributes: pairs("OTEL_RESOURCE_ATTRIBUTES")?,
        })
    }

    /// The last stage of each target of a stored run.
    ///
    /// # Errors
    /// When the collector did not take them.
    pub(super) fn push_run(&self, run: &bench_user::record::RunRecord) -> anyhow::Result<()> {
        let body = report::otlp(run, &self.attributes);
        self.send(body).map_err(|why| anyhow::anyhow!(why))
    }

    /// One request; the error is a sentence.
    fn send(&self, body: Vec<u8>) -> Result<(), String> {
        let url = &self.url;
        let answer = self.fetcher.post(url, Bytes::from(body), TIMEOUT).map_err(|error| {
            format!("no metrics were pushed, because {url} did not take them: {error}")
        })?;
        if answer.is_success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&answer.body);
        let said: String = said.chars().filter(|c| !c.is_control()).take(200).collect();
        let said = if said.is_empty() { said } else { format!(" ({said})") };
        Err(format!("no metrics were pushed: {url} answered {}{said}", answer.status))
    }

    pub(super) fn url(&self) -> &Url {
        &self.url
    }
}

/// The address for metrics: the flag, else the variable for metrics, which is taken as it is, else
/// the variable for all signals, else a collector of this machine.
fn address(flag: &str, variable: Variable<'_>) -> anyhow::Result<Url> {
    let metrics = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT";
    let all = "OTEL_EXPORTER_OTLP_ENDPOINT";
    let (from, text, is_whole) = match (flag, variable(metrics), variable(all)) {
        ("", Some(text), _) => (metrics, text, true),
        ("", None, Some(text)) => (all, text, false),
        ("", None, None) => ("--otlp", COLLECTOR.to_owned(), false),
        (text, ..) => ("--otlp", text.to_owned(), false),
    };
    let remedy = || format!("{from} is `{text}`: write it as {COLLECTOR}");
    let mut url: Url = text.parse().with_context(remedy)?;
    anyhow::ensure!(matches!(url.scheme(), "http" | "https"), remedy());
    if !is_whole && !url.path().ends_with(PATH) {
        let path = format!("{}/{PATH}", url.path().trim_end_matches('/'));
        url.set_path(&path);
    }
    Ok(url)
}

/// `a=b,c=d` with percent-encoded values, as the W3C writes baggage.
fn pairs(name: &str, text: &str) -> anyhow::Result<Vec<(String, String)>> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let pair = |part: &str| {
        let (key, value) = part
            .split_once('=')
            .with_context(|| format!("{name} has no value in `{part}`: write it as key=value"))?;
        Ok((key.trim().to_owned(), decoded(value.trim())))
    };
    parts.map(pair).collect()
}

fn decoded(value: &str) -> String {
    percent_encoding::percent_decode_str(value).decode_utf8_lossy().into_owned()
}

/// Pushes an observation while it goes on; a thread of its own waits for the collector.
pub(super) struct Pusher {
    collector: Collector,
    observation: Observation,
    attributes: Vec<(String, String)>,
    start_ns: u64,
    every_ns: u64,
    next_ns: u64,
    bodies: SyncSender<Vec<u8>>,
    sender: JoinHandle<()>,
}

impl Pusher {
    /// Of a target that is observed from now on.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub(super) fn start(
        collector: Collector,
        target: &TargetHandle,
        host: &HostInfo,
        variable: Variable<'_>,
    ) -> anyhow::Result<Self> {
        let interval = variable("OTEL_METRIC_EXPORT_INTERVAL").and_then(|ms| ms.parse().ok());
        let every_ns = interval.unwrap_or(INTERVAL_MS).max(1) * 1_000_000;
        let service = variable("OTEL_SERVICE_NAME").map(|name| ("service.name".to_owned(), name));
        let said: Vec<_> = collector.attributes.iter().cloned().chain(service).collect();
        let attributes = report::otlp_attributes(&target.name, host, &said);
        // One that the collector is slow to take may wait; what comes meanwhile is in the next.
        let (bodies, taken) = sync_channel(1);
        let to = collector.clone();
        let thread = std::thread::Builder::new().name("otlp".into());
        let sender = thread.spawn(move || send_all(&to, &taken)).context("push metrics")?;
        say(&format!("pushing metrics to {}", collector.url()));
        Ok(Self {
            observation: Observation::of(target),
            collector,
            attributes,
            start_ns: clock::wall_ns(),
            every_ns,
            next_ns: clock::now_ns() + every_ns,
            bodies,
            sender,
        })
    }

    /// When the next push is due, ns of [`clock::now_ns`].
    pub(super) fn due_ns(&self) -> u64 {
        self.next_ns
    }

    /// Pushes what was counted so far.
    pub(super) fn push(&mut self, sample: &Sample) {
        self.next_ns = clock::now_ns() + self.every_ns;
        let body = self.body(sample);
        match self.bodies.try_send(body) {
            // The next has all that this one had.
            Ok(()) | Err(TrySendError::Full(_)) => {}
            Err(TrySendError::Disconnected(_)) => {
                say("warning: the thread that pushes metrics ended (please report this)");
            }
        }
    }

    /// Pushes the whole, and waits until it was taken or not.
    pub(super) fn finish(mut self, sample: &Sample) {
        let body = self.body(sample);
        let Self { bodies, sender, collector, .. } = self;
        drop(bodies);
        if sender.join().is_err() {
            say("warning: the thread that pushes metrics broke down (please report this)");
        }
        if let Err(why) = collector.send(body) {
            say(&format!("warning: {why}"));
        }
    }

    fn body(&mut self, sample: &Sample) -> Vec<u8> {
        let window = Window { start_ns: self.start_ns, end_ns: clock::wall_ns() };
        self.observation.take_in(sample).otlp(&self.attributes, window)
    }
}

/// Sends what comes. A failure is said once, until there is another or it is over.
fn send_all(collector: &Collector, bodies: &Receiver<Vec<u8>>) {
    let mut last: Option<String> = None;
    for body in bodies {
        let failed = collector.send(body).err();
        if failed != last {
            match &failed {
                Some(why) => say(&format!("warning: {why}; the observation goes on")),
                None => say(&format!("metrics reach {} again", collector.url())),
            }
        }
        last = failed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(flag: &str, variables: &[(&str, &str)]) -> anyhow::Result<String> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Ok(Collector::find(flag, &variable)?.url.to_string())
    }

    #[test]
    fn the_flag_stands_above_the_variables_and_they_above_the_default() {
        let all = ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://all:4318/x");
        let metrics = ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://m/here");
        assert_eq!(found("", &[]).unwrap(), "http://127.0.0.1:4318/v1/metrics");
        assert_eq!(found("", &[all]).unwrap(), "https://all:4318/x/v1/metrics");
        assert_eq!(found("", &[all, metrics]).unwrap(), "http://m/here");
        assert_eq!(found("http://f:1/", &[all, metrics]).unwrap(), "http://f:1/v1/metrics");
        assert_eq!(found("http://f/v1/metrics", &[]).unwrap(), "http://f/v1/metrics");
        let said = format!("{:#}", found("f:1", &[]).unwrap_err());
        assert_eq!(said, "--otlp is `f:1`: write it as http://127.0.0.1:4318");
    }

    #[test]
    fn pairs_are_percent_decoded_and_a_plus_stays_one() {
        let read = pairs("X", "a=b%20c, authorization=Basic%20YQ+=,").unwrap();
        let expect = [("a", "b c"), ("authorization", "Basic YQ+=")];
        assert_eq!(read, expect.map(|(key, value)| (key.to_owned(), value.to_owned())));
        assert!(pairs("X", "a").unwrap_err().to_string().contains("write it as key=value"));
    }
}
