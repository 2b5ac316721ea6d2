//! The one socket address that a stage talks to: names are resolved before it, once.
//!
//! A name with several addresses is pinned to the first that takes a connection, so that
//! `localhost` works with a server on either of 127.0.0.1 and `::1`, and so that the stages of a
//! ladder do not spread over servers. Only such a name is tried, before the first request.

use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use url::Url;

use crate::fetch::authority;
use crate::plan::Family;
use crate::tls;

/// How long one address of several may take to accept the trial connection.
const TRIAL: Duration = Duration::from_secs(1);

/// No single address to talk to.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// The name is not known.
    #[error("cannot resolve {0}: {1}; check the host name in the address")]
    Resolve(String, std::io::Error),
    /// The name is known and has no address.
    #[error("{0} has no address; check the host name in the address")]
    Nothing(String),
    /// It has none of the family asked for.
    #[error("{0} has no {1} address; change `family` or `sources`, or give another host name")]
    Family(String, &'static str),
    /// Some of the list is encrypted and some is not.
    #[error(
        "{0} and {1} cannot go over the same connections, because only one of them is encrypted; \
         give addresses of one scheme"
    )]
    MixedTls(String, String),
    /// The list names more than one server.
    #[error(
        "{0} and {1} are different servers, and the connections of a stage go to one; \
         give addresses of a single server"
    )]
    ManyServers(String, String),
}

/// The address that every one of `urls` is requested from, of this family where one is given.
pub(super) fn pin(urls: &[Url], family: Option<Family>) -> Result<SocketAddr, AddressError> {
    ensure_alike(urls)?;
    let mut names: Vec<String> = urls.iter().map(authority).collect();
    names.dedup();
    let first = names.first().cloned().unwrap_or_default();
    let pinned =
        accepting(&of_family(&first, family)?).ok_or(AddressError::Nothing(first.clone()))?;
    match names.into_iter().skip(1).find_map(|name| other_server(name, pinned).transpose()) {
        None => Ok(pinned),
        Some(Ok(other)) => Err(AddressError::ManyServers(first, other)),
        Some(Err(error)) => Err(error),
    }
}

/// Checks that all are encrypted or none is.
///
/// # Errors
/// [`AddressError::MixedTls`] for the first that is not like the ones before it.
pub(super) fn ensure_alike(urls: &[Url]) -> Result<(), AddressError> {
    match urls.windows(2).find(|pair| tls::is_at(&pair[0]) != tls::is_at(&pair[1])) {
        Some(pair) => Err(AddressError::MixedTls(pair[0].to_string(), pair[1].to_string())),
        None => Ok(()),
    }
}

fn of_family(name: &str, family: Option<Family>) -> Result<Vec<SocketAddr>, AddressError> {
    let mut addresses = resolve(name)?;
    if let Some(family) = family {
        addresses.retain(|address| Family::of(address.ip()) == family);
        if addresses.is_empty() {
            return Err(AddressError::Family(name.to_owned(), family.name()));
        }
    }
    Ok(addresses)
}

fn other_server(name: String, pinned: SocketAddr) -> Result<Option<String>, AddressError> {
    let is_same = resolve(&name)?.contains(&pinned);
    Ok((!is_same).then_some(name))
}

fn resolve(name: &str) -> Result<Vec<SocketAddr>, AddressError> {
    let found = name.to_socket_addrs().map_err(|e| AddressError::Resolve(name.to_owned(), e))?;
    let mut addresses: Vec<SocketAddr> = found.collect();
    addresses.dedup();
    Ok(addresses)
}

/// The only address, or the first that accepts, or just the first: the stage will say then how
/// its connections fail.
fn accepting(addresses: &[SocketAddr]) -> Option<SocketAddr> {
    match addresses {
        [] | [_] => addresses.first().copied(),
        several => several
            .iter()
            .find(|address| TcpStream::connect_timeout(address, TRIAL).is_ok())
            .or(several.first())
            .copied(),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn urls(list: &[&str]) -> Vec<Url> {
        list.iter().map(|url| url.parse().unwrap()).collect()
    }

    #[test]
    fn names_of_one_server_go_together_and_two_servers_do_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let by_name = format!("http://localhost:{}/b", address.port());
        let pinned = pin(&urls(&[&format!("http://{address}/a"), &by_name]), None).unwrap();
        assert_eq!(pinned, address);
        let error = pin(&urls(&[&by_name, "http://127.0.0.1:1/"]), None).unwrap_err();
        assert!(matches!(error, AddressError::ManyServers(..)), "{error}");
    }

    #[test]
    fn encrypted_and_plain_addresses_do_not_go_together() {
        let alike = ["https://127.0.0.1:1/a", "wss://127.0.0.1:1/b"];
        assert_eq!(pin(&urls(&alike), None).unwrap().port(), 1);
        let error = pin(&urls(&[alike[0], "http://127.0.0.1:1/"]), None).unwrap_err().to_string();
        assert!(error.starts_with("https://127.0.0.1:1/a and http://127.0.0.1:1/ "), "{error}");
    }

    #[test]
    fn only_addresses_of_the_family_are_pinned() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        // Nobody listens on the other family's loopback address: it would not be chosen freely.
        let by_name = urls(&[&format!("http://localhost:{port}/")]);
        assert!(pin(&by_name, Some(Family::Ipv4)).unwrap().is_ipv4());
        match pin(&by_name, Some(Family::Ipv6)) {
            Ok(address) => assert!(address.is_ipv6(), "{address}"),
            // Some machines know localhost as 127.0.0.1 alone.
            Err(error) => assert!(matches!(error, AddressError::Family(..)), "{error}"),
        }
        let error = pin(&urls(&["http://127.0.0.1:1/"]), Some(Family::Ipv6)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "127.0.0.1:1 has no IPv6 address; change `family` or `sources`, or give another host \
             name"
        );
        assert!(pin(&urls(&["http://[::1]:1/"]), Some(Family::Ipv6)).unwrap().is_ipv6());
    }

    #[test]
    fn of_several_addresses_the_one_that_accepts_is_pinned() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let there = listener.local_addr().unwrap();
        // Bound without listening: refused for as long as the socket is held.
        let held = super::super::test_server::refusing_address();
        assert_eq!(accepting(&[held.address, there]), Some(there));
        assert_eq!(accepting(&[held.address, held.address]), Some(held.address));
    }
}
