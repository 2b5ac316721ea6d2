//! Enough local ports for a stage, made sure of before it.
//!
//! Connections to one address differ in their source address and port alone, so one source
//! address can hold as many as the kernel's range has ports. Connections that are closed keep
//! theirs for a minute (TIME_WAIT), which cannot be known before: that shows in the stage as
//! failures of the class `local_port_exhausted`.

use crate::host::sockets::local_ports;

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
    match local_ports() {
        Ok(ports) => enough(connections, ports * sources.max(1) as u64),
        // Where the kernel does not say, the stage will.
        Err(_unknown) => Ok(()),
    }
}

fn enough(connections: u32, ports: u64) -> Result<(), PortError> {
    if u64::from(connections) <= ports { Ok(()) } else { Err(PortError { connections, ports }) }
}

#[cfg(test)]
mod tests {
    use super::*;

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
