//! The byte stream under a connection: TCP or a unix socket, with or without TLS over it.

use std::fmt::Debug;
use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpSocket, TcpStream, UnixStream};

use super::setting::Setting;
use crate::clock;
use crate::load::dial::{Dialer, Endpoint, refuse_self_connect};
use crate::load::failure::{Failure, FailureClass};
use crate::tls::HandshakeError;

/// Any of them.
pub(super) type Stream = Box<dyn ByteStream>;

/// What the protocols need of a stream.
pub(super) trait ByteStream: AsyncRead + AsyncWrite + Unpin + Debug {}

impl<T: AsyncRead + AsyncWrite + Unpin + Debug> ByteStream for T {}

/// Opens the stream of connection number `place` and notes the time it took, that of TLS apart;
/// `again` when it replaces one that was closed.
pub(super) async fn open(setting: &Setting, place: usize, again: bool) -> Result<Stream, Failure> {
    let began_ns = clock::now_ns();
    let stream = connect(&setting.dialer, place).await.map_err(|e| Failure::connecting(&e))?;
    let open_ns = clock::now_ns();
    setting.recorder.opened(open_ns - began_ns, open_ns, again);
    let Some(tls) = setting.dialer.tls() else { return Ok(stream) };
    let secured = tls.connector.secure(tls.name.clone(), stream).await;
    let secured = secured.map_err(|e| insecure(&e))?;
    setting.recorder.secured(clock::now_ns() - open_ns);
    Ok(Box::new(secured))
}

fn insecure(error: &HandshakeError) -> Failure {
    let class = match error {
        HandshakeError::Failed(_) => FailureClass::Tls,
        HandshakeError::NotHttp2 => FailureClass::Protocol,
    };
    Failure::new(class, error.to_string())
}

async fn connect(dialer: &Dialer, place: usize) -> io::Result<Stream> {
    match dialer.endpoint() {
        Endpoint::Unix(path) => Ok(Box::new(UnixStream::connect(path).await?)),
        Endpoint::Tcp(address) => Ok(Box::new(connect_tcp(dialer, *address, place).await?)),
    }
}

async fn connect_tcp(dialer: &Dialer, peer: SocketAddr, place: usize) -> io::Result<TcpStream> {
    let socket = if peer.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    dialer.bind(&socket, place)?;
    let stream = socket.connect(peer).await?;
    refuse_self_connect(stream.local_addr()?, peer)?;
    stream.set_nodelay(true)?;
    Ok(stream)
}
