//! Series as OpenTelemetry metrics: the message that is sent by OTLP, in protobuf.
//!
//! Built of the messages themselves and not with OpenTelemetry's SDK: that counts for itself, and
//! takes neither histograms that were counted elsewhere nor the times of a run that is over. Every
//! series is cumulative, from the begin of its window to its end.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric as Message,
    NumberDataPoint, ResourceMetrics, ScopeMetrics, Sum, metric, number_data_point,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message as _;

use super::series::{self, Buckets, Family, Kind, Number, Point, Unit};
use crate::host::HostInfo;
use crate::record::{RunRecord, StageRecord};

/// Says what the attributes of a resource mean.
const CONVENTIONS: &str = "https://opentelemetry.io/schemas/1.37.0";

/// The time that the series of a message are counted over, ns since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Its begin.
    pub start_ns: u64,
    /// Its end.
    pub end_ns: u64,
}

/// The body of one request, of one target.
pub(super) fn of_target(
    families: &[Family],
    attributes: &[(String, String)],
    window: Window,
) -> Vec<u8> {
    request(vec![resource(families, attributes, window)])
}

/// The body of one request, with the last stage of each target of a stored run.
pub(in crate::report) fn of_run(run: &RunRecord, attributes: &[(String, String)]) -> Vec<u8> {
    let resources = series::by_target(run).into_iter().map(|(target, stage, families)| {
        let mut own = attributes_of(&target.name, &run.host);
        own.push(("service.instance.id".into(), run.id.clone()));
        merge(&mut own, attributes);
        resource(&families, &own, window(run, stage))
    });
    request(resources.collect())
}

/// A target and the machine by the semantic conventions of OpenTelemetry.
pub(in crate::report) fn attributes_of(target: &str, host: &HostInfo) -> Vec<(String, String)> {
    let arch = match host.arch.as_str() {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let mut attributes = vec![
        ("service.name".to_owned(), target.to_owned()),
        ("host.arch".to_owned(), arch.to_owned()),
        ("os.type".to_owned(), "linux".to_owned()),
        ("os.version".to_owned(), host.kernel.clone()),
    ];
    let model = host.cpu_model.value().cloned();
    attributes.extend(model.map(|model| ("host.cpu.model.name".to_owned(), model)));
    attributes
}

/// What the user says of the resource stands above what is known of it.
pub(in crate::report) fn merge(own: &mut Vec<(String, String)>, said: &[(String, String)]) {
    for (key, value) in said {
        match own.iter_mut().find(|(known, _)| known == key) {
            Some((_, known)) => known.clone_from(value),
            None => own.push((key.clone(), value.clone())),
        }
    }
}

/// When the stage was: the record knows when the run began, to a second, and how far its windows
/// are apart.
fn window(run: &RunRecord, stage: &StageRecord) -> Window {
    let began: Option<SystemTime> = humantime::parse_rfc3339(&run.started_at).ok();
    let began = began.and_then(|began| began.duration_since(UNIX_EPOCH).ok());
    let first = run.targets.iter().flat_map(|target| &target.stages);
    let first = first.map(|stage| stage.load.window_start_ns).filter(|ns| *ns > 0).min();
    let after = stage.load.window_start_ns.saturating_sub(first.unwrap_or(0));
    let start = began.unwrap_or_default() + Duration::from_nanos(after);
    let end = start + Duration::try_from_secs_f64(stage.duration_s).unwrap_or_default();
    let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    Window { start_ns: ns(start), end_ns: ns(end) }
}

fn request(resource_metrics: Vec<ResourceMetrics>) -> Vec<u8> {
    ExportMetricsServiceRequest { resource_metrics }.encode_to_vec()
}

fn resource(
    families: &[Family],
    attributes: &[(String, String)],
    window: Window,
) -> ResourceMetrics {
    let scope = InstrumentationScope {
        name: env!("CARGO_PKG_NAME").into(),
        version: env!("CARGO_PKG_VERSION").into(),
        ..InstrumentationScope::default()
    };
    let attributes = attributes.iter().map(|(key, value)| text(key, value)).collect();
    ResourceMetrics {
        resource: Some(Resource { attributes, ..Resource::default() }),
        scope_metrics: vec![ScopeMetrics {
            scope: Some(scope),
            metrics: families.iter().map(|family| message(family, window)).collect(),
            schema_url: String::new(),
        }],
        schema_url: CONVENTIONS.into(),
    }
}

fn text(key: &str, value: &str) -> KeyValue {
    let value = any_value::Value::StringValue(value.to_owned());
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
        ..KeyValue::default()
    }
}

fn message(family: &Family, window: Window) -> Message {
    let Family { is, points } = family;
    let numbers = || points.iter().filter_map(|point| number(point, window)).collect();
    let cumulative = i32::from(AggregationTemporality::Cumulative);
    let data = match is.kind {
        Kind::Counter => metric::Data::Sum(Sum {
            data_points: numbers(),
            aggregation_temporality: cumulative,
            is_monotonic: true,
        }),
        Kind::Gauge | Kind::Info => metric::Data::Gauge(Gauge { data_points: numbers() }),
        Kind::Histogram => metric::Data::Histogram(Histogram {
            data_points: points.iter().filter_map(|point| histogram(point, window)).collect(),
            aggregation_temporality: cumulative,
        }),
    };
    let unit = match is.unit {
        Unit::None => "",
        Unit::Seconds => "s",
        Unit::Bytes => "By",
    };
    Message {
        name: is.name.into(),
        description: is.help.into(),
        unit: unit.into(),
        metadata: Vec::new(),
        data: Some(data),
    }
}

fn attributes(point: &Point) -> Vec<KeyValue> {
    point.labels.iter().map(|(key, value)| text(key, value)).collect()
}

fn number(point: &Point, window: Window) -> Option<NumberDataPoint> {
    let value = match point.value {
        Number::Whole(n) => number_data_point::Value::AsInt(i64::try_from(n).unwrap_or(i64::MAX)),
        Number::Real(n) => number_data_point::Value::AsDouble(n),
        Number::Buckets(_) => return None,
    };
    Some(NumberDataPoint {
        attributes: attributes(point),
        start_time_unix_nano: window.start_ns,
        time_unix_nano: window.end_ns,
        value: Some(value),
        ..NumberDataPoint::default()
    })
}

fn histogram(point: &Point, window: Window) -> Option<HistogramDataPoint> {
    let Number::Buckets(Buckets { counts, count, sum }) = &point.value else { return None };
    let below: u64 = counts.iter().map(|(_, count)| count).sum();
    let above = count.saturating_sub(below);
    Some(HistogramDataPoint {
        attributes: attributes(point),
        start_time_unix_nano: window.start_ns,
        time_unix_nano: window.end_ns,
        count: *count,
        sum: Some(*sum),
        explicit_bounds: counts.iter().map(|(bound, _)| *bound).collect(),
        bucket_counts: counts.iter().map(|(_, count)| *count).chain([above]).collect(),
        ..HistogramDataPoint::default()
    })
}
