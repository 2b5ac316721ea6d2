//! A stored run pushed by OTLP to a collector of the test's own, which decodes what comes and holds
//! it against the record.

#![expect(clippy::unwrap_used, reason = "what cannot be had fails its test")]

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::process::Output;
use std::thread::JoinHandle;

use assert_cmd::Command;
use bench_user::measured::Measured;
use bench_user::record::RunRecord;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::{
    HistogramDataPoint, NumberDataPoint, ResourceMetrics, metric, number_data_point,
};
use prost::Message as _;

use super::runs;

/// A request: its first line, its headers with small letters, its body.
struct Request {
    line: String,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

/// Takes one request and answers it so.
fn collector(answer: &'static str) -> (SocketAddr, JoinHandle<Request>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut bytes = Vec::new();
        let end = loop {
            let mut chunk = [0; 4096];
            let n = stream.read(&mut chunk).unwrap();
            assert!(n > 0, "a whole head");
            bytes.extend_from_slice(&chunk[..n]);
            if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
        };
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let mut lines = head.lines();
        let line = lines.next().unwrap().to_owned();
        let headers: BTreeMap<String, String> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let length: usize = headers["content-length"].parse().unwrap();
        let mut body = bytes[end..].to_vec();
        let rest = length - body.len();
        body.resize(length, 0);
        stream.read_exact(&mut body[length - rest..]).unwrap();
        stream.write_all(answer.as_bytes()).unwrap();
        Request { line, headers, body }
    });
    (address, thread)
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

/// `report RUN --otlp` of this run, with these arguments and variables.
fn push(run: &RunRecord, args: &[&str], variables: &[(&str, &str)]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    std::fs::write(&file, serde_json::to_string(run).unwrap()).unwrap();
    let mut program = Command::cargo_bin("bench-user").unwrap();
    for name in std::env::vars().map(|(name, _)| name).filter(|name| name.starts_with("OTEL_")) {
        program.env_remove(name);
    }
    program.envs(variables.iter().copied()).arg("report").arg(&file).arg("--otlp").args(args);
    program.output().unwrap()
}

fn attributes(of: &[KeyValue]) -> BTreeMap<&str, &str> {
    of.iter()
        .map(|pair| match &pair.value.as_ref().unwrap().value {
            Some(any_value::Value::StringValue(value)) => (pair.key.as_str(), value.as_str()),
            other => panic!("{other:?}"),
        })
        .collect()
}

fn numbers<'a>(resource: &'a ResourceMetrics, name: &str) -> &'a [NumberDataPoint] {
    let metric = resource.scope_metrics[0].metrics.iter().find(|m| m.name == name).unwrap();
    match metric.data.as_ref().unwrap() {
        metric::Data::Sum(sum) => {
            // AGGREGATION_TEMPORALITY_CUMULATIVE
            assert!(sum.is_monotonic && sum.aggregation_temporality == 2);
            &sum.data_points
        }
        metric::Data::Gauge(gauge) => &gauge.data_points,
        other => panic!("{name}: {other:?}"),
    }
}

fn histogram<'a>(resource: &'a ResourceMetrics, name: &str) -> &'a HistogramDataPoint {
    let metric = resource.scope_metrics[0].metrics.iter().find(|m| m.name == name).unwrap();
    match metric.data.as_ref().unwrap() {
        metric::Data::Histogram(histogram) => &histogram.data_points[0],
        other => panic!("{name}: {other:?}"),
    }
}

/// The value of the one point with this attribute.
fn value(points: &[NumberDataPoint], key: &str, is: &str) -> f64 {
    let point = points.iter().find(|p| attributes(&p.attributes).get(key) == Some(&is)).unwrap();
    match point.value.unwrap() {
        #[expect(clippy::cast_precision_loss, reason = "small counts")]
        number_data_point::Value::AsInt(n) => n as f64,
        number_data_point::Value::AsDouble(n) => n,
    }
}

#[test]
#[expect(clippy::cast_precision_loss, reason = "small counts")]
fn what_is_pushed_is_the_last_stage_of_each_target() {
    let run = runs::with_histograms();
    let (address, taken) = collector(OK);
    let variables = [
        ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b%3D, x-tenant = t"),
        ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=ci,os.version=mine"),
    ];
    let output = push(&run, &[&format!("http://{address}")], &variables);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said, format!("metrics pushed to http://{address}/v1/metrics\n"));
    assert_eq!(output.status.code(), Some(0));
    let request = taken.join().unwrap();
    assert_eq!(request.line, "POST /v1/metrics HTTP/1.1");
    assert_eq!(request.headers["content-type"], "application/x-protobuf");
    assert_eq!((&*request.headers["api-key"], &*request.headers["x-tenant"]), ("a b=", "t"));

    let message = ExportMetricsServiceRequest::decode(&*request.body).unwrap();
    assert_eq!(message.resource_metrics.len(), run.targets.len());
    // The last stage of the second target is a control stage, and so not it.
    let stages = [run.targets[0].stages.last().unwrap(), &run.targets[1].stages[0]];
    for ((resource, target), stage) in message.resource_metrics.iter().zip(&run.targets).zip(stages)
    {
        let about = attributes(&resource.resource.as_ref().unwrap().attributes);
        assert_eq!(about["service.name"], target.name);
        assert_eq!((about["os.type"], about["os.version"]), ("linux", "mine"));
        assert_eq!(about["deployment.environment.name"], "ci");
        assert_eq!(about["service.instance.id"], run.id);
        let syscalls = numbers(resource, "bench.syscalls");
        let Measured::Value(block) = &stage.syscalls else { panic!("{}", target.name) };
        assert_eq!(syscalls.len(), block.by_name.len());
        for (name, count) in &block.by_name {
            assert_eq!(value(syscalls, "syscall", name), count.count as f64, "{name}");
        }
        let requests = numbers(resource, "bench.load.requests");
        assert_eq!(value(requests, "outcome", "ok"), stage.load.outcomes.ok as f64);
        let rate = numbers(resource, "bench.load.achieved.rps");
        assert_eq!(value(rate, "target", &target.name), stage.load.achieved_rps);
        let response = histogram(resource, "bench.load.response");
        assert_eq!(response.count, stage.load.response_ns.count);
        assert_eq!(response.bucket_counts.iter().sum::<u64>(), response.count);
        assert_eq!(response.bucket_counts.len(), response.explicit_bounds.len() + 1);
        let began = humantime::parse_rfc3339(&run.started_at).unwrap();
        let began = began.duration_since(std::time::UNIX_EPOCH).unwrap();
        assert!(u128::from(response.start_time_unix_nano) >= began.as_nanos());
        let lasted = response.time_unix_nano - response.start_time_unix_nano;
        assert!((lasted as f64 / 1e9 - stage.duration_s).abs() < 1e-6, "{lasted}");
    }
}

#[test]
fn the_variables_of_opentelemetry_name_the_collector() {
    for (variable, path, expect) in [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "", "/v1/metrics"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "/otlp/", "/otlp/v1/metrics"),
        ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "/as/it/is", "/as/it/is"),
    ] {
        let (address, taken) = collector(OK);
        let url = format!("http://{address}{path}");
        let output = push(&runs::two_targets(), &[], &[(variable, &url)]);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(taken.join().unwrap().line, format!("POST {expect} HTTP/1.1"));
    }
}

#[test]
fn a_collector_that_does_not_take_it_is_one_sentence() {
    let failed = |args: &[&str], variables: &[(&str, &str)]| {
        let output = push(&runs::two_targets(), args, variables);
        assert_eq!(output.status.code(), Some(2));
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(said.lines().count(), 1, "{said}");
        said
    };
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let said = failed(&[&format!("http://{nobody}")], &[]);
    let expect = format!(
        "error: no metrics were pushed, because http://{nobody}/v1/metrics did not take them: "
    );
    assert!(said.starts_with(&expect), "{said}");
    let (address, taken) =
        collector("HTTP/1.1 401 Unauthorized\r\nContent-Length: 8\r\n\r\nno token");
    let said = failed(&[&format!("http://{address}/v1/metrics")], &[]);
    taken.join().unwrap();
    let expect = format!("http://{address}/v1/metrics answered 401 (no token)\n");
    assert_eq!(said, format!("error: no metrics were pushed: {expect}"));
    let said = failed(&["127.0.0.1:4318"], &[]);
    assert!(said.contains("write it as http://127.0.0.1:4318"), "{said}");
    let said = failed(&[], &[("OTEL_EXPORTER_OTLP_HEADERS", "token")]);
    assert!(said.contains("OTEL_EXPORTER_OTLP_HEADERS has no value in `token`"), "{said}");
}
