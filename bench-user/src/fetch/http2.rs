//! The same GET in HTTP/2.

use bytes::{Bytes, BytesMut};
use hyper::header::{CONNECTION, HOST, USER_AGENT};
use hyper::{HeaderMap, Request};
use tokio::io::{AsyncRead, AsyncWrite};
use url::{Position, Url};

use super::{AGENT, BODY_LIMIT, Fetched, Whole};

pub(super) async fn get<S>(url: &Url, headers: &HeaderMap, stream: S) -> Whole
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (sender, connection) = h2::client::handshake(stream).await?;
    let mut request =
        Request::get(&url[..Position::AfterQuery]).header(USER_AGENT, AGENT).body(())?;
    request.headers_mut().extend(headers.clone());
    // What these mean is said by the protocol itself (RFC 9113 section 8.2.2).
    for name in [CONNECTION, HOST] {
        request.headers_mut().remove(name);
    }
    let answer = async {
        let (response, _no_body) = sender.ready().await?.send_request(request, true)?;
        let response = response.await?;
        let fetched = Fetched::without_body(&response);
        let body = whole(response.into_body()).await?;
        Ok(Fetched { body, ..fetched })
    };
    // The connection future drives the answer, and hands it the error that it ends with.
    tokio::pin!(answer, connection);
    tokio::select! {
        biased;
        fetched = &mut answer => fetched,
        _ended = &mut connection => answer.await,
    }
}

async fn whole(
    mut body: h2::RecvStream,
) -> Result<Bytes, Box<dyn std::error::Error + Send + Sync>> {
    let mut bytes = BytesMut::new();
    while let Some(chunk) = body.data().await {
        let chunk = chunk?;
        body.flow_control().release_capacity(chunk.len())?;
        bytes.extend_from_slice(&chunk);
        if bytes.len() > BODY_LIMIT {
            return Err("the body is too long".into());
        }
    }
    Ok(bytes.freeze())
}
