//! The server itself, asked over plain sockets: that each endpoint does what its row says, and
//! counts what it did.

/// What each endpoint sends, and what it does with the connection.
mod answers;

/// What is counted.
mod counts;

/// Standing still, and taking no connections.
mod modes;

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use super::row::{Ending, Fate, class};
use super::{FullBacklog, Next, Request, Row, Site, Tally, endpoints};

/// A client that knows nothing of HTTP: it sends what it is told and compares bytes.
struct Raw(TcpStream);

impl Raw {
    fn to(site: &Site) -> Self {
        let stream = TcpStream::connect(site.address()).unwrap();
        // Only a server that does not do what its row says makes anybody wait so long.
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Self(stream)
    }

    fn send(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).unwrap();
    }

    /// Exactly these bytes come next.
    fn expect(&mut self, text: &[u8]) {
        let mut bytes = vec![0; text.len()];
        self.0.read_exact(&mut bytes).unwrap();
        assert_eq!(String::from_utf8_lossy(&bytes), String::from_utf8_lossy(text));
    }

    /// The server ends the connection and sends nothing before.
    fn expect_fin(&mut self) {
        assert_eq!(self.0.read(&mut [0; 64]).unwrap(), 0);
    }

    fn expect_reset(&mut self) {
        let error = self.0.read(&mut [0; 64]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    }

    /// This side ends the connection first.
    fn close(&mut self) {
        self.0.shutdown(Shutdown::Write).unwrap();
    }
}

/// A request to an endpoint, with a body of five bytes where the method has one.
fn request(method: &str, name: &str) -> String {
    let body =
        if matches!(method, "POST" | "PUT") { "Content-Length: 5\r\n\r\n12345" } else { "\r\n" };
    format!("{method} /{name}?a=b HTTP/1.1\r\nHost: x\r\n{body}")
}

fn row(name: &str) -> &'static Row {
    endpoints::row(name).unwrap_or_else(|| panic!("no row {name}"))
}

/// The tally of one endpoint after a client has done its work there.
fn tally_after(name: &'static str, work: impl FnOnce(&Site)) -> Tally {
    let site = Site::start();
    work(&site);
    let (mut tallies, _) = site.finish();
    assert_eq!(tallies.keys().collect::<Vec<_>>(), [&name]);
    tallies.remove(name).unwrap()
}
