//! Enough local ports for a stage, made sure of before it.
//!
//! Connections to one address differ in their source address and port alone, so one source
//! address can hold as many as the kernel's range has ports. Connections that are closed keep
//! theirs for a minute (TIME_WAIT), which cannot be known before: that shows in the stage as
//! failures of the class `local_port_exhausted`.

use std::fs::read_to_string;

/// More connections than local ports.
#[derive(Debug, thiserror::Error)]
#[error(
    "{connections} connections to one address need {connections} local ports of {ports}; give \
     several `sources`, each with ports of its own, or widen net.ipv4.ip_local_port_range"
)]
pub struct PortError {
    /// Connections asked for.
    pub connections: u32,
    /// Local ports that all source addresses have together.
    pub ports: u64,
}

/// Checks that so many connections can be open from so many source addresses.
///
/// # Errors
/// When they cannot.
pub(super) fn ensure_ports(connections: u32, sources: usize) -> Result<(), PortError> {
    let read = |name| read_to_string(format!("/proc/sys/net/ipv4/{name}")).unwrap_or_default();
    // Both are those of the network namespace of whoever reads them, and of both families.
    match of_one_source(&read("ip_local_port_range"), &read("ip_local_reserved_ports")) {
        Some(ports) => enough(connections, ports * sources.max(1) as u64),
        None => Ok(()),
    }
}

fn enough(connections: u32, ports: u64) -> Result<(), PortError> {
    if u64::from(connections) <= ports { Ok(()) } else { Err(PortError { connections, ports }) }
}

/// Ports of the range `"32768\t60999"` without the reserved ones, `"40000,50000-50010"`; `None`
/// where it is no such range.
fn of_one_source(range: &str, reserved: &str) -> Option<u64> {
    let mut bounds = range.split_whitespace().map(str::parse::<u64>);
    let (low, high) = (bounds.next()?.ok()?, bounds.next()?.ok()?);
    // The kernel draws from an even number of ports: it leaves the last of an odd range alone
    // (v6.1, net/ipv4/inet_hashtables.c, __inet_hash_connect).
    let size = (high + 1).checked_sub(low)?;
    let size = if size > 1 { size & !1 } else { size };
    let end = low + size;
    let taken: u64 = reserved
        .trim()
        .split(',')
        .filter_map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            Some((first.parse::<u64>().ok()?, last.parse::<u64>().ok()?))
        })
        .map(|(first, last)| (last + 1).min(end).saturating_sub(first.max(low)))
        .sum();
    Some(size.saturating_sub(taken))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_is_inclusive_even_and_without_what_is_reserved() {
        assert_eq!(of_one_source("32768\t60999\n", "\n"), Some(28_232));
        assert_eq!(of_one_source("20000 20199", ""), Some(200));
        assert_eq!(of_one_source("20000 20200", ""), Some(200));
        assert_eq!(of_one_source("20000 20000", ""), Some(1));
        assert_eq!(of_one_source("20000 20199", "8080,20010,20100-20109,20195-30000\n"), Some(184));
        assert_eq!(of_one_source("20000 20199", "1-65535"), Some(0));
        assert_eq!(of_one_source("", ""), None);
        assert_eq!(of_one_source("9 4", ""), None);
    }

    #[test]
    fn one_connection_too_many_is_refused_with_both_numbers() {
        enough(200, 200).unwrap();
        let error = enough(201, 200).unwrap_err().to_string();
        assert!(error.contains("need 201 local ports of 200"), "{error}");
        assert!(error.contains("`sources`"), "{error}");
    }

    #[test]
    fn sources_multiply_the_ports_of_this_machine() {
        // No port is numbered above 65,535, whatever the range is.
        assert!(ensure_ports(65_536, 0).is_err() && ensure_ports(65_536, 1).is_err());
        ensure_ports(1, 1).unwrap();
        ensure_ports(65_536, 70_000).unwrap();
    }
}
