//! What rustls says about a handshake that failed, in the words of a user and with the remedy where
//! there is one. Anything else stays as rustls puts it.

use rustls::{AlertDescription, CertificateError, Error, InvalidMessage};

/// The failure as the end of a sentence.
pub(super) fn of(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(why) => certificate(why).unwrap_or_else(|| error.to_string()),
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "the server speaks no TLS there; write the address with http:// (or ws://)".into()
        }
        Error::AlertReceived(AlertDescription::UnrecognisedName) => {
            "the server does not know the name that it is asked for; give one of its own with \
             `--server-name`"
                .into()
        }
        other => other.to_string(),
    }
}

fn certificate(error: &CertificateError) -> Option<String> {
    use CertificateError as E;
    let sentence = match error {
        // An authority of the same name with another key signed it: of an earlier set-up, say.
        E::UnknownIssuer | E::BadSignature => {
            "nobody who is trusted has signed the server's certificate; name the PEM file of its \
             authority with `--ca`, or take any certificate with `--no-verify`"
        }
        E::Expired | E::ExpiredContext { .. } => {
            "the server's certificate has expired; renew it, or take any with `--no-verify`"
        }
        E::NotValidYet | E::NotValidYetContext { .. } => {
            "the server's certificate is not valid yet; set the clock right, or take any with \
             `--no-verify`"
        }
        E::NotValidForName => {
            "the server's certificate is for another name; give that with `--server-name`, or take \
             any certificate with `--no-verify`"
        }
        E::NotValidForNameContext { expected, presented } => {
            let expected = expected.to_str();
            let names = if presented.is_empty() {
                "no name at all (subjectAltName)".into()
            } else {
                presented.iter().map(|name| bare(name)).collect::<Vec<_>>().join(", ")
            };
            return Some(format!(
                "the server's certificate is not for {expected} but for {names}; give a name that \
                 it is for with `--server-name`, or take any certificate with `--no-verify`"
            ));
        }
        // The verifier's own error type is not ours to name; it is shown by its variant.
        E::Other(why) if why.to_string().contains("CaUsedAsEndEntity") => {
            "the server shows the certificate of an authority (CA:TRUE) as its own; give it a leaf \
             certificate that is no CA and name the authority with `--ca`, or take any certificate \
             with `--no-verify`"
        }
        _ => return None,
    };
    Some(sentence.into())
}

/// The name in the verifier's `DnsName("a.test")` or `IpAddress(127.0.0.1)`.
fn bare(presented: &str) -> &str {
    let inner = presented.split_once('(').and_then(|(_kind, rest)| rest.strip_suffix(')'));
    inner.unwrap_or(presented).trim_matches('"')
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair, date_time_ymd};
    use rustls::ServerConfig;
    use rustls::crypto::ring;
    use rustls::pki_types::{PrivateKeyDer, ServerName};
    use tokio_rustls::TlsAcceptor;

    use crate::tls::{Alpn, Connector, TlsSpec};

    /// What is said of a server with this certificate, which is trusted or not.
    fn refusal(name: &'static str, is_trusted: bool, odd: fn(&mut CertificateParams)) -> String {
        let mut params = CertificateParams::new(["a.test".to_owned()]).unwrap();
        odd(&mut params);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        let trusted = if is_trusted {
            certificate.pem()
        } else {
            rcgen::generate_simple_self_signed(["a.test".to_owned()]).unwrap().cert.pem()
        };
        std::fs::write(&file, trusted).unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(ring::default_provider().into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        let spec = TlsSpec { ca: Some(file.path().to_owned()), ..TlsSpec::default() };
        let connector = Connector::new(&spec, Alpn::Http1).unwrap();
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (refused, _answered) = runtime.block_on(async {
            tokio::join!(
                connector.secure(ServerName::try_from(name).unwrap(), ours),
                TlsAcceptor::from(Arc::new(config)).accept(theirs)
            )
        });
        refused.unwrap_err().to_string()
    }

    #[test]
    fn each_refusal_of_a_certificate_has_its_remedy() {
        let check = |refusal: String, words: &[&str]| {
            assert!(words.iter().all(|word| refusal.contains(word)), "{refusal}");
        };
        let untrusted = ["nobody who is trusted", "--ca", "--no-verify"];
        check(refusal("a.test", false, |_| {}), &untrusted);
        let other_issuer = refusal("a.test", false, |params| {
            params.distinguished_name.push(DnType::CommonName, "another authority");
        });
        check(other_issuer, &untrusted);
        let other = refusal("b.test", true, |_| {});
        check(other, &["not for b.test but for a.test;", "--server-name"]);
        let expired = refusal("a.test", true, |params| {
            params.not_before = date_time_ymd(2000, 1, 1);
            params.not_after = date_time_ymd(2001, 1, 1);
        });
        check(expired, &["has expired", "--no-verify"]);
        let early = refusal("a.test", true, |params| {
            params.not_before = date_time_ymd(4000, 1, 1);
            params.not_after = date_time_ymd(4001, 1, 1);
        });
        check(early, &["not valid yet", "clock"]);
        let authority = refusal("a.test", true, |params| {
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        });
        check(authority, &["CA:TRUE", "a leaf certificate", "--ca"]);
    }
}
