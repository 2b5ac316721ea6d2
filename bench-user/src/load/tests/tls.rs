//! Connections over TLS: whom they trust, what they ask for, what a failed handshake is.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Mutex;

use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::*;
use crate::fetch::{FetchError, Fetcher, Spoken};
use crate::load::{CrawlLimits, crawl};
use crate::plan::TlsSpec;
use crate::tls::TlsError;

/// What a server over TLS saw.
#[derive(Debug, Default, Clone)]
struct Seen {
    answered: u64,
    handshakes: u64,
    refused: u64,
    names: Vec<Option<String>>,
}

/// Serves HTTP/1.1 over TLS until the test program ends; its certificate is for `a.test`.
struct SecureServer {
    address: SocketAddr,
    seen: Arc<Mutex<Seen>>,
    certificate: tempfile::NamedTempFile,
}

impl SecureServer {
    /// Every connection ends after `per_connection` responses, without a word of TLS.
    fn start(per_connection: u64) -> Self {
        let made = rcgen::generate_simple_self_signed(["a.test".to_owned()]).unwrap();
        let certificate = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&certificate, made.cert.pem()).unwrap();
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(ring::default_provider().into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let (config, shared) = (Arc::new(config), Arc::clone(&seen));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let session = ServerConnection::new(Arc::clone(&config)).unwrap();
                let stream = StreamOwned::new(session, stream.unwrap());
                let seen = Arc::clone(&shared);
                std::thread::spawn(move || serve(stream, &seen, per_connection));
            }
        });
        Self { address, seen, certificate }
    }

    fn url(&self) -> Url {
        format!("https://{}/", self.address).parse().unwrap()
    }

    fn trusted(&self) -> TlsSpec {
        let ca = Some(PathBuf::from(self.certificate.path()));
        TlsSpec { ca, server_name: Some("a.test".into()), verify: true }
    }

    fn trial(&self, tls: TlsSpec) -> Trial {
        let mut trial = trial_of(Client::Hyper, &[self.url()]);
        trial.setup.dial.tls = tls;
        trial
    }

    fn seen(&self) -> Seen {
        self.seen.lock().unwrap().clone()
    }
}

fn serve(
    mut stream: StreamOwned<ServerConnection, std::net::TcpStream>,
    seen: &Mutex<Seen>,
    per_connection: u64,
) {
    if stream.conn.complete_io(&mut stream.sock).is_err() {
        seen.lock().unwrap().refused += 1;
        return;
    }
    {
        let mut seen = seen.lock().unwrap();
        seen.handshakes += 1;
        seen.names.push(stream.conn.server_name().map(str::to_owned));
    }
    let mut head = Vec::new();
    for _ in 0..per_connection {
        head.clear();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            if !stream.read(&mut byte).is_ok_and(|n| n == 1) {
                return;
            }
            head.push(byte[0]);
        }
        seen.lock().unwrap().answered += 1;
        drop(stream.write_all(OK.as_bytes()));
    }
}

#[test]
fn requests_over_tls_are_counted_as_the_server_counts_them() {
    let (sample, server) =
        against_own(|| SecureServer::start(u64::MAX), |server| server.trial(server.trusted()));
    let seen = server.seen();
    assert!(sample.outcomes.ok > 0 && sample.outcomes.failed() == 0, "{:?}", sample.outcomes);
    assert_eq!(sample.account.completed, seen.answered);
    assert_eq!((sample.connect_ns.count, sample.tls_ns.count), (seen.handshakes, seen.handshakes));
    assert_eq!(seen.handshakes, u64::from(CONNECTIONS));
    assert_eq!(sample.bytes_in, 5 * sample.requests);
    assert!(seen.names.iter().all(|name| name.as_deref() == Some("a.test")), "{seen:?}");
}

#[test]
fn a_close_without_the_words_of_tls_between_requests_fails_none() {
    let (sample, server) = against_own_until(
        || SecureServer::start(5),
        |server| server.trial(server.trusted()),
        |sample| sample.outcomes.reconnects > 0,
    );
    let seen = server.seen();
    assert!(sample.outcomes.ok > 0 && sample.account.failed == 0, "{:?}", sample.outcomes);
    assert_eq!(sample.account.completed, seen.answered);
    assert!(seen.handshakes > u64::from(CONNECTIONS), "{seen:?}");
    assert_eq!(sample.tls_ns.count, seen.handshakes);
}

#[test]
fn a_stranger_s_certificate_is_refused_by_class_tls_and_taken_when_asked_for() {
    let (server, other) = (SecureServer::start(u64::MAX), SecureServer::start(u64::MAX));
    for tls in [
        TlsSpec { ca: other.trusted().ca, ..server.trusted() },
        TlsSpec { server_name: Some("b.test".into()), ..server.trusted() },
    ] {
        let (sample, ()) = against_own(|| (), |()| server.trial(tls.clone()));
        let outcomes = &sample.outcomes;
        assert!(sample.account.failed > 0);
        assert_eq!((outcomes.tls, sample.account.completed), (outcomes.failed(), 0));
        assert!(outcomes.examples["tls"].contains("certificate"), "{outcomes:?}");
        assert_eq!((sample.tls_ns.count, sample.response_ns.count), (0, 0));
        assert_eq!(sample.connect_ns.count, sample.account.failed, "the connect itself went well");
    }
    assert_eq!(server.seen().answered, 0);
    let unverified = TlsSpec { verify: false, ..TlsSpec::default() };
    let (sample, ()) = against_own(|| (), |()| server.trial(unverified.clone()));
    assert!(sample.outcomes.ok > 0 && sample.account.failed == 0, "{:?}", sample.outcomes);
    // An address that is no name is not asked for by name.
    assert!(server.seen().names.iter().all(Option::is_none));
}

#[test]
fn a_handshake_that_nobody_answers_ends_with_the_connect_timeout() {
    let plain = TestServer::start(|_, _| Next::Close);
    let mut url = plain.url("/");
    url.set_scheme("https").unwrap_or_else(|()| unreachable!("both are special schemes"));
    let unverified = TlsSpec { verify: false, ..TlsSpec::default() };
    let (sample, ()) = against_own(
        || (),
        |()| {
            let mut trial = trial_of(Client::Hyper, std::slice::from_ref(&url));
            trial.setup.dial.tls = unverified.clone();
            trial.setup.dial.connect_timeout = Some(Duration::from_millis(40));
            trial
        },
    );
    assert!(sample.account.failed > 0 && sample.account.completed == 0);
    let outcomes = &sample.outcomes;
    assert_eq!(outcomes.connect, outcomes.failed(), "it waits for the end of a head: {outcomes:?}");
    assert!(outcomes.examples["connect_timeout"].contains("40ms"), "{outcomes:?}");
    drop(plain);
}

#[test]
fn an_unusable_certificate_file_ends_the_generator_before_its_first_connection() {
    let server = SecureServer::start(1);
    let mut trial = trial_of(Client::Hyper, &[server.url()]);
    trial.setup.dial.tls.ca = Some("/does/not/exist.pem".into());
    let error = Generator::start(trial.setup).unwrap_err();
    assert!(matches!(error, LoadError::Tls(TlsError::Read(..))), "{error}");
    let mut trial =
        trial_of(Client::Hyper, &[server.url(), "http://127.0.0.1:1/".parse().unwrap()]);
    trial.setup.dial.unix_socket = Some("/does/not/matter".into());
    let error = Generator::start(trial.setup).unwrap_err();
    assert!(matches!(error, LoadError::Address(_)), "{error}");
}

#[test]
fn readiness_and_pages_are_asked_over_the_same_tls() {
    let server = SecureServer::start(1);
    let get = |spoken, tls| Fetcher::new(spoken, tls).get(&server.url(), Duration::from_secs(20));
    assert_eq!(&get(Spoken::Http1, server.trusted()).unwrap().body[..], b"hello");
    let fetcher = Fetcher::new(Spoken::Http1, server.trusted());
    let found = crawl(&server.url(), &CrawlLimits::default(), &fetcher).unwrap();
    assert_eq!(found.pages, [server.url()]);
    let stranger = SecureServer::start(1);
    let refused = get(Spoken::Http1, stranger.trusted()).unwrap_err();
    assert!(matches!(&refused, FetchError::Http(_, why) if why.contains("TLS")), "{refused}");
    let not_http2 = get(Spoken::Http2, server.trusted()).unwrap_err();
    assert!(not_http2.to_string().contains("HTTP/2"), "{not_http2}");
}
