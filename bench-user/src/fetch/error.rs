//! Why there was no answer: each variant is one sentence, with the remedy where there is one.

use std::error::Error;
use std::io;
use std::time::Duration;

use url::Url;

use crate::tls::TlsError;

/// Why there was no answer.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// Another scheme than `http` or `https`.
    #[error("{0}: only http:// and https:// addresses can be requested")]
    Scheme(Url),
    /// TLS cannot be spoken as asked for.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Nobody took the connection.
    #[error("cannot connect to {0}: {1}; {hint}", hint = connect_hint(.1))]
    Connect(String, io::Error),
    /// The answer was broken.
    #[error("no HTTP answer from {0}: {1}")]
    Http(Url, String),
    /// The answer is none of the protocol.
    #[error(
        "no HTTP answer from {0}: {1}; does the server speak https, HTTP/2 or plain HTTP there? \
         change the scheme or `--protocol`"
    )]
    Mismatch(Url, String),
    /// It took too long.
    #[error("no answer from {0} within {1:?}")]
    Timeout(Url, Duration),
}

/// What the resolver says has no number of the kernel's, unlike what a connection says.
fn connect_hint(error: &io::Error) -> &'static str {
    let is_of_socket =
        matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::InvalidInput);
    if error.raw_os_error().is_none() && !is_of_socket {
        "check the host name"
    } else {
        "is the server listening there?"
    }
}

impl FetchError {
    /// Of an answer that is broken.
    pub(super) fn of_answer(url: &Url, error: &(dyn Error + Send + Sync + 'static)) -> Self {
        let is_foreign = match (error.downcast_ref::<hyper::Error>(), error.downcast_ref()) {
            (Some(http1), _) => http1.is_parse() || http1.is_incomplete_message(),
            // A stream that is reset, or a connection that is left with a word, speaks HTTP/2.
            (_, Some(http2)) => {
                let http2: &h2::Error = http2;
                !(http2.is_remote() && (http2.is_reset() || http2.is_go_away()))
            }
            _ => false,
        };
        let make = if is_foreign { Self::Mismatch } else { Self::Http };
        make(url.clone(), error.to_string())
    }

    /// Asking again would be no use: the question itself is wrong.
    #[must_use]
    pub const fn is_ours(&self) -> bool {
        matches!(self, Self::Scheme(_) | Self::Tls(_))
    }
}
