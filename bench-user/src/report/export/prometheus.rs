//! Series in the text formats that Prometheus and its relatives scrape.
//!
//! A name is the metric's with underscores, then its unit, then `_total` of a counter or `_info`:
//! what OpenTelemetry's rules make of the same names as well.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeMetric as _, MetricEncoder, NoLabelSet, prometheus_text, text,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{self, Registry};

use super::series::{Family, Kind, Metric, Number, Unit};

/// The name with which the samples of a metric begin.
pub(super) fn name(is: &Metric) -> String {
    let unit = match is.unit {
        Unit::None => "",
        Unit::Seconds => "_seconds",
        Unit::Bytes => "_bytes",
    };
    let kind = match is.kind {
        Kind::Counter => "_total",
        Kind::Info => "_info",
        Kind::Gauge | Kind::Histogram => "",
    };
    format!("{}{unit}{kind}", is.name.replace('.', "_"))
}

/// Text format 0.0.4, which files for node_exporter and the Pushgateway are in too.
pub(in crate::report) fn text(families: Vec<Family>) -> String {
    let mut written = String::new();
    let encoded = prometheus_text::encode(&mut written, &registry(families));
    encoded.expect("writing into a string never fails");
    written
}

/// OpenMetrics text 1.0.0.
pub(in crate::report) fn openmetrics(families: Vec<Family>) -> String {
    let mut written = String::new();
    text::encode(&mut written, &registry(families)).expect("writing into a string never fails");
    written
}

fn registry(families: Vec<Family>) -> Registry {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Families(families)));
    registry
}

#[derive(Debug)]
struct Families(Vec<Family>);

impl Collector for Families {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for Family { is, points } in &self.0 {
            let kind = match is.kind {
                Kind::Counter => MetricType::Counter,
                Kind::Gauge => MetricType::Gauge,
                Kind::Histogram => MetricType::Histogram,
                Kind::Info => MetricType::Info,
            };
            let unit = match is.unit {
                Unit::None => None,
                Unit::Seconds => Some(registry::Unit::Seconds),
                Unit::Bytes => Some(registry::Unit::Bytes),
            };
            let name = is.name.replace('.', "_");
            let mut of = encoder.encode_descriptor(&name, is.help, unit.as_ref(), kind)?;
            for point in points {
                if is.kind == Kind::Info {
                    of.encode_info(&point.labels)?;
                } else {
                    value(is.kind, &point.value, of.encode_family(&point.labels)?)?;
                }
            }
        }
        Ok(())
    }
}

fn value(kind: Kind, value: &Number, mut encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
    match (kind, value) {
        (Kind::Counter, Number::Whole(n)) => ConstCounter::new(*n).encode(encoder),
        (Kind::Counter, Number::Real(n)) => ConstCounter::new(*n).encode(encoder),
        (_, Number::Whole(n)) => ConstGauge::new(*n).encode(encoder),
        (_, Number::Real(n)) => ConstGauge::new(*n).encode(encoder),
        (_, Number::Buckets(b)) => {
            encoder.encode_histogram::<NoLabelSet>(b.sum, b.count, &b.counts, None)
        }
    }
}
