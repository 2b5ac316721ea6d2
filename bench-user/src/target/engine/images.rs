//! The images that an engine has: looked at, made of an archive, removed; never pulled.

use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use bollard::query_parameters::{ListImagesOptions, RemoveImageOptions};
use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::Frame;
use hyper::client::conn::http1::handshake;
use hyper::{Request, StatusCode, header};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::UnixStream;
use tokio::time::timeout;
use url::form_urlencoded;

use super::{Engine, EngineError, Wish, if_known};
use crate::target::Image;
use crate::target::owner::dead_owner;

/// How long an engine may take to make an image of an archive, which it unpacks.
const IMPORT_WITHIN: Duration = Duration::from_mins(10);
/// So much of an archive is read at a time, bytes.
const PIECE_BYTES: usize = 1 << 18;

impl Engine {
    /// The first engine that has the image, those of the variables before the usual places, or the
    /// named one alone; and the image.
    ///
    /// # Errors
    /// When none can be asked, or none has it.
    pub(in crate::target) fn with_image(
        reference: &str,
        name: Option<&str>,
    ) -> Result<(Self, Image), EngineError> {
        let engines = Self::all(name)?;
        let places: Vec<_> = engines.iter().map(|e| e.socket.display().to_string()).collect();
        let mut complaint = EngineError::NoImage(reference.to_owned(), places.join(", "));
        for engine in engines {
            match engine.image(reference) {
                Ok(Some(image)) => return Ok((engine, image)),
                Ok(None) => {}
                Err(error) if error.weight() >= complaint.weight() => complaint = error,
                Err(_lighter) => {}
            }
        }
        Err(complaint)
    }

    /// Whether it has an image of this name, id or `NAME:TAG`.
    ///
    /// # Errors
    /// When it cannot be asked.
    pub fn has_image(&self, reference: &str) -> Result<bool, EngineError> {
        self.image(reference).map(|image| image.is_some())
    }

    /// Size of an image as the engine says it, bytes.
    ///
    /// # Errors
    /// When it cannot be asked, has no such image, or does not say.
    pub fn image_bytes(&self, reference: &str) -> Result<u64, EngineError> {
        let image = self.image(reference)?.ok_or_else(|| self.misses(reference))?;
        image.size_bytes.ok_or_else(|| self.fails(format!("it tells no size of `{reference}`")))
    }

    /// The image of this name. Podman looks for short names at Docker's registry alone when it is
    /// asked in Docker's words, and not among what was built here.
    fn image(&self, reference: &str) -> Result<Option<Image>, EngineError> {
        let built_here = format!("localhost/{reference}");
        for name in [reference, &built_here] {
            let found = self.ask(async |client| if_known(client.inspect_image(name).await))?;
            if let Some(found) = found {
                let size_bytes = found.size.and_then(|bytes| u64::try_from(bytes).ok());
                let id = found.id.unwrap_or_else(|| name.to_owned());
                return Ok(Some(Image { id, size_bytes }));
            }
        }
        Ok(None)
    }

    /// Makes an image named `reference` of the archive of a root filesystem; each of `changes` is
    /// an instruction of a Dockerfile, such as `CMD ["/server"]`. An image that had the name loses
    /// it.
    ///
    /// # Errors
    /// When the archive cannot be read, or the engine refuses it.
    pub fn import(
        &self,
        tar: impl Read + 'static,
        reference: &str,
        changes: &[impl AsRef<str>],
    ) -> Result<(), EngineError> {
        self.import_within(IMPORT_WITHIN, tar, reference, changes)
    }

    pub(super) fn import_within(
        &self,
        within: Duration,
        tar: impl Read + 'static,
        reference: &str,
        changes: &[impl AsRef<str>],
    ) -> Result<(), EngineError> {
        // Podman 4.3 does not look at `tag`, and wants each change in a parameter of its own, which
        // the client library puts into one.
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("fromSrc", "-").append_pair("repo", reference);
        for change in changes {
            query.append_pair("changes", change.as_ref());
        }
        let target = format!("/images/create?{}", query.finish());
        let posted = async { timeout(within, post(&self.socket, &target, pieces(tar))).await };
        let (status, answer) = self
            .block_on(posted)?
            .map_err(|_elapsed| {
                let within = within.as_secs();
                self.fails(format!("it has not taken the image `{reference}` within {within} s"))
            })?
            .map_err(|error| self.fails(error))?;
        if let Some(refusal) = refusal(&answer) {
            return Err(self.refuses(Wish::IMPORT, refusal));
        }
        if !status.is_success() {
            return Err(self.refuses(Wish::IMPORT, format!("{status} {}", answer.trim())));
        }
        if self.has_image(reference)? { Ok(()) } else { Err(self.misses(reference)) }
    }

    /// Takes the name from an image, and removes it where it has no other; one that is not there
    /// is no error.
    ///
    /// # Errors
    /// When it cannot be asked, or a container needs the image.
    pub fn remove_image(&self, reference: &str) -> Result<(), EngineError> {
        let built_here = format!("localhost/{reference}");
        for name in [reference, &built_here] {
            let removed = self.ask_long(Wish::REMOVE_IMAGE, async |client| {
                if_known(client.remove_image(name, None::<RemoveImageOptions>, None).await)
            })?;
            if removed.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// Removes the images whose repository begins with `prefix` and whose tag is the [`mark`] of a
    /// process that has ended, and names them. One that cannot be removed stays, with a warning.
    ///
    /// [`mark`]: crate::target::mark
    ///
    /// # Errors
    /// When it cannot be asked.
    pub fn remove_left_images(&self, prefix: &str) -> Result<Vec<String>, EngineError> {
        let images =
            self.ask(async |client| client.list_images(None::<ListImagesOptions>).await)?;
        let mut removed = Vec::new();
        for name in images.into_iter().flat_map(|image| image.repo_tags) {
            // So Podman calls what was built here, and what it was given in Docker's words.
            let reference = ["localhost/", "docker.io/"]
                .iter()
                .find_map(|registry| name.strip_prefix(registry))
                .unwrap_or(&name);
            let tag =
                reference.rsplit_once(':').filter(|(repository, _)| repository.starts_with(prefix));
            if tag.is_none_or(|(_, tag)| dead_owner(tag).is_none()) {
                continue;
            }
            match self.remove_image(&name) {
                Ok(()) => removed.push(format!("image {reference}")),
                Err(error) => log::warn!("an image of an earlier process stays: {error}"),
            }
        }
        Ok(removed)
    }

    fn misses(&self, reference: &str) -> EngineError {
        EngineError::NoImage(reference.to_owned(), self.socket.display().to_string())
    }
}

/// Why an image was not made, in what an engine tells of it step by step, one JSON object after
/// another: it answers with a good status before it has begun.
fn refusal(answer: &str) -> Option<String> {
    let steps = serde_json::Deserializer::from_str(answer).into_iter::<Value>();
    steps.map_while(Result::ok).find_map(|step| {
        let why = step.get("error")?;
        Some(why.as_str().map_or_else(|| why.to_string(), str::to_owned))
    })
}

/// What is read, piece by piece, to its end.
fn pieces(mut from: impl Read) -> impl Iterator<Item = io::Result<Frame<Bytes>>> {
    std::iter::from_fn(move || {
        let mut piece = vec![0; PIECE_BYTES];
        match from.read(&mut piece) {
            Ok(0) => None,
            Ok(read) => {
                piece.truncate(read);
                Some(Ok(Frame::data(piece.into())))
            }
            Err(error) => Some(Err(error)),
        }
    })
}

/// One POST of an archive over the engine's socket, and the whole answer.
async fn post(
    socket: &Path,
    target: &str,
    pieces: impl Iterator<Item = io::Result<Frame<Bytes>>> + 'static,
) -> Result<(StatusCode, String), Box<dyn std::error::Error + Send + Sync>> {
    let stream = UnixStream::connect(socket).await?;
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await?;
    let request = Request::post(target)
        .header(header::HOST, "localhost")
        .header(header::CONTENT_TYPE, "application/x-tar")
        .body(StreamBody::new(stream::iter(pieces)))?;
    let exchange = async move {
        let response = sender.send_request(request).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        Ok::<_, hyper::Error>((status, String::from_utf8_lossy(&body).into_owned()))
    };
    // The exchange gives up the sender at its end, which ends the connection too.
    let (answer, _ended) = tokio::join!(exchange, connection);
    Ok(answer?)
}
