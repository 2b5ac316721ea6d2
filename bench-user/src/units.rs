//! Durations, sizes and rates as people write and read them.
//!
//! Inside the program everything is in base units (nanoseconds, bytes, per second, ratios of
//! 0..=1); only this module turns them into text and back.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A length of time in a plan: written as `"30s"`, `"1m 30s"` or `"250ms"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
#[schemars(with = "String")]
pub struct Span(pub Duration);

impl Span {
    /// Whole seconds as a span.
    #[must_use]
    pub const fn from_secs(s: u64) -> Self {
        Self(Duration::from_secs(s))
    }

    /// Nanoseconds.
    #[must_use]
    pub fn as_ns(self) -> u64 {
        ns(self.0)
    }
}

/// Nanoseconds of a length of time; one of centuries is as long as a `u64` can say.
#[must_use]
pub fn ns(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

impl std::str::FromStr for Span {
    type Err = String;
    fn from_str(s: &str) -> Result<Self, String> {
        humantime::parse_duration(s)
            .map(Self)
            .map_err(|e| format!("`{s}` is not a duration such as \"30s\" or \"250ms\": {e}"))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_duration(self.0).fmt(f)
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A rate that was asked for, as it is written: whole where it is, to a tenth where it is large
/// enough for that to be nothing.
#[must_use]
pub fn show_rate(rps: f64) -> String {
    if rps >= 100.0 && rps.fract() != 0.0 { format!("{rps:.1}") } else { rps.to_string() }
}

/// A number of bytes in a plan: written as `"512MiB"`, `"1.5GiB"`, `"64kB"` or `"4096"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
#[schemars(with = "String")]
pub struct Bytes(pub u64);

const BYTE_UNITS: [(&str, f64); 9] = [
    ("TiB", 1_099_511_627_776.0),
    ("GiB", 1_073_741_824.0),
    ("MiB", 1_048_576.0),
    ("KiB", 1024.0),
    ("TB", 1e12),
    ("GB", 1e9),
    ("MB", 1e6),
    ("kB", 1e3),
    ("B", 1.0),
];

impl std::str::FromStr for Bytes {
    type Err = String;
    fn from_str(s: &str) -> Result<Self, String> {
        let text = s.trim();
        let (number, factor) = BYTE_UNITS
            .iter()
            .find_map(|(unit, factor)| text.strip_suffix(unit).map(|n| (n, *factor)))
            .unwrap_or((text, 1.0));
        match number.trim().parse::<f64>() {
            Ok(n) if n >= 0.0 && n * factor < 9e18 =>
            {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "checked to lie in 0..9e18; a fraction of a byte is dropped"
                )]
                Ok(Self((n * factor) as u64))
            }
            _ => Err(format!("`{s}` is not a size such as \"512MiB\" or \"64kB\"")),
        }
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[expect(clippy::cast_precision_loss, reason = "for people, three digits")]
        let n = self.0 as f64;
        let (unit, factor) =
            BYTE_UNITS[..4].iter().find(|(_, factor)| n >= *factor).copied().unwrap_or(("B", 1.0));
        if unit == "B" || n % factor == 0.0 {
            write!(f, "{}{unit}", n / factor)
        } else {
            write!(f, "{:.1}{unit}", n / factor)
        }
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        // The exact number when the short form would round it.
        let short = self.to_string();
        if short.parse() == Ok(*self) { s.serialize_str(&short) } else { s.collect_str(&self.0) }
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A share of a whole, 0..=1: written as `"2%"`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, JsonSchema)]
#[schemars(with = "String")]
pub struct Share(pub f64);

impl std::str::FromStr for Share {
    type Err = String;
    fn from_str(s: &str) -> Result<Self, String> {
        let percent = s.trim().strip_suffix('%').and_then(|n| n.trim().parse::<f64>().ok());
        match percent {
            Some(n) if (0.0..=100.0).contains(&n) => Ok(Self(n / 100.0)),
            _ => Err(format!("`{s}` is not a share such as \"2%\" or \"0.5%\"")),
        }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A division by a hundred and back may leave a last digit that nobody wrote.
        write!(f, "{}%", (self.0 * 1e10).round() / 1e8)
    }
}

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Nanoseconds for people: `840 ns`, `12.3 µs`, `4.56 ms`, `1.20 s`.
#[must_use]
pub fn show_ns(ns: f64) -> String {
    match ns.abs() {
        n if n < 1e3 => format!("{ns:.0} ns"),
        n if n < 1e6 => format!("{:.1} µs", ns / 1e3),
        n if n < 1e9 => format!("{:.2} ms", ns / 1e6),
        _ => format!("{:.2} s", ns / 1e9),
    }
}

/// Events per request for people: two decimals below a hundred, also where they are zero, so
/// that a column lines up.
#[must_use]
pub fn show_per_request(n: f64) -> String {
    if n.abs() < 99.995 { format!("{n:.2}") } else { show_count(n) }
}

/// A count or a rate for people: `0.42`, `12.3`, `4,210`, `31.2 k`, `1.25 M`.
#[must_use]
pub fn show_count(n: f64) -> String {
    match n.abs() {
        a if a >= 1e6 => format!("{:.2} M", n / 1e6),
        a if a >= 1e4 => format!("{:.1} k", n / 1e3),
        a if a >= 999.5 => {
            let whole = n.round();
            format!("{},{:03.0}", (whole / 1e3).trunc(), whole.abs() % 1e3)
        }
        a if a >= 100.0 || (n.fract() == 0.0) => format!("{n:.0}"),
        a if a >= 10.0 => format!("{n:.1}"),
        _ => format!("{n:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_sizes_are_read_as_people_write_them() {
        assert_eq!("1m 30s".parse::<Span>(), Ok(Span::from_secs(90)));
        assert!("30".parse::<Span>().unwrap_err().contains("30s"));
        assert_eq!("512MiB".parse::<Bytes>(), Ok(Bytes(512 << 20)));
        assert_eq!("1.5GiB".parse::<Bytes>(), Ok(Bytes(3 << 29)));
        assert_eq!("4096".parse::<Bytes>(), Ok(Bytes(4096)));
        assert!("12 apples".parse::<Bytes>().is_err() && "-1B".parse::<Bytes>().is_err());
    }

    #[test]
    fn a_size_survives_the_way_through_text() {
        for n in [0, 1, 1023, 1536, 1_000_001, 512 << 20] {
            let json = serde_json::to_string(&Bytes(n)).unwrap();
            assert_eq!(serde_json::from_str::<Bytes>(&json).unwrap(), Bytes(n), "{json}");
        }
    }

    #[test]
    fn a_share_is_written_in_percent_and_survives_the_way_through_text() {
        for text in ["0%", "0.07%", "1.1%", "2%", "29%", "100%"] {
            assert_eq!(text.parse::<Share>().unwrap().to_string(), text);
        }
        assert_eq!(" 2.5 % ".parse::<Share>(), Ok(Share(0.025)));
        for wrong in ["2", "0.02", "-1%", "101%", "nan%", "%"] {
            assert!(wrong.parse::<Share>().unwrap_err().contains("2%"), "{wrong}");
        }
    }

    #[test]
    fn numbers_for_people() {
        assert_eq!(show_ns(840.0), "840 ns");
        assert_eq!(show_ns(12_345.0), "12.3 µs");
        assert_eq!(show_ns(4_560_000.0), "4.56 ms");
        assert_eq!(show_per_request(2.0), "2.00");
        assert_eq!(show_per_request(1234.0), "1,234");
        assert_eq!(show_count(0.42), "0.42");
        assert_eq!(show_count(4210.0), "4,210");
        assert_eq!(show_count(1999.7), "2,000");
        assert_eq!(show_count(999.7), "1,000");
        assert_eq!(show_count(31_234.0), "31.2 k");
    }
}
