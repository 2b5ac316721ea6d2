//! Where `observe` hands its figures while it counts.

use std::net::SocketAddr;

use clap::Args;

/// Outlets of `observe`.
#[derive(Debug, Args)]
pub struct OutletArgs {
    /// Serve the counters so far at /metrics of this loopback address; port 0 takes a free one
    #[arg(long, value_name = "HOST:PORT", value_parser = loopback)]
    pub metrics: Option<SocketAddr>,
    /// Push the counters so far to an OpenTelemetry collector by OTLP over HTTP [default:
    /// $OTEL_EXPORTER_OTLP_ENDPOINT, else http://127.0.0.1:4318]
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = "")]
    pub otlp: Option<String>,
}

/// An address that only this machine reaches: what is served has neither TLS nor a password.
fn loopback(text: &str) -> Result<SocketAddr, String> {
    let named = text.replacen("localhost:", "127.0.0.1:", 1);
    let address: SocketAddr =
        named.parse().map_err(|_none| "write it as 127.0.0.1:9464".to_owned())?;
    if address.ip().is_loopback() {
        return Ok(address);
    }
    Err(format!(
        "{} is no loopback address, and metrics are served without TLS or a password: take \
         127.0.0.1:{}, and let a proxy or `ssh -L` reach it from elsewhere",
        address.ip(),
        address.port()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_is_taken() {
        for text in ["127.0.0.1:9464", "localhost:0", "[::1]:1", "127.8.9.1:80"] {
            assert!(loopback(text).is_ok_and(|address| address.ip().is_loopback()), "{text}");
        }
        let said = loopback("0.0.0.0:9464").unwrap_err();
        assert!(said.starts_with("0.0.0.0 is no loopback address"), "{said}");
        assert!(said.contains("take 127.0.0.1:9464"), "{said}");
        assert_eq!(loopback(":9464").unwrap_err(), "write it as 127.0.0.1:9464");
    }
}
