//! Logs that clients upload.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use axum::http::StatusCode;
use bytes::Bytes;
use http_body::Body as _;
use tokio::io::AsyncWriteExt as _;

use super::{Log, Origin, Sources};
use crate::answer::Refusal;

/// Most uploads that are received at a time.
const MAX_ARRIVING: usize = 4;
/// How long a client may send nothing.
const SILENCE: Duration = Duration::from_secs(30);
/// Longest name of a log, in bytes.
const MAX_NAME: usize = 200;

/// A place for an upload, given back when it is dropped.
pub(crate) struct Upload<'a>(&'a Sources);

impl Drop for Upload<'_> {
    fn drop(&mut self) {
        self.0.lock().arriving -= 1;
    }
}

impl Sources {
    /// A place for an upload of so many bytes, where the client tells.
    pub(crate) fn begin_upload(&self, bytes: Option<u64>) -> Result<Upload<'_>, Refusal> {
        if bytes.is_some_and(|bytes| bytes > self.uploads.max_bytes) {
            return Err(too_long(self.uploads.max_bytes));
        }
        let mut open = self.lock();
        let uploaded = open.logs.values().filter(|log| log.origin == Origin::Uploaded).count();
        if open.arriving >= MAX_ARRIVING || uploaded + open.arriving >= self.uploads.max_count {
            return Err(Refusal::too_many(format!(
                "at most {} uploaded logs are open at a time; close one",
                self.uploads.max_count
            )));
        }
        open.arriving += 1;
        Ok(Upload(self))
    }
}

impl Upload<'_> {
    /// Receives a log and begins to read it. Of one that is cut short nothing stays.
    pub(crate) async fn receive(self, name: &str, mut body: Body) -> Result<Arc<Log>, Refusal> {
        let folder = self.0.uploads.folder.clone();
        let made = move || tempfile::Builder::new().prefix("tacho-upload-").tempfile_in(folder);
        let made = tokio::task::spawn_blocking(made);
        let made = made.await.map_err(|_| Refusal::busy("the server ends"))?;
        let (file, path) = made.map_err(no_room)?.into_parts();
        let mut file = tokio::fs::File::from_std(file);
        let mut received = 0;
        loop {
            let Ok(chunk) = tokio::time::timeout(SILENCE, Chunk(&mut body)).await else {
                return Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, "nothing came for half a minute"));
            };
            let Some(chunk) = chunk else { break };
            let chunk = chunk.map_err(|_| Refusal::bad("the upload was cut short"))?;
            received += chunk.len() as u64;
            if received > self.0.uploads.max_bytes {
                return Err(too_long(self.0.uploads.max_bytes));
            }
            file.write_all(&chunk).await.map_err(no_room)?;
        }
        file.flush().await.map_err(no_room)?;
        if received == 0 {
            return Err(Refusal::bad("the upload is empty"));
        }
        let files = vec![(shown_name(name), path.to_path_buf())];
        let log = self.0.insert(Origin::Uploaded, files, Some(path))?;
        log.read(&self.0.work);
        Ok(log)
    }
}

/// The next piece of a body.
struct Chunk<'a>(&'a mut Body);

impl Future for Chunk<'_> {
    type Output = Option<Result<Bytes, axum::Error>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            match ready!(Pin::new(&mut *self.0).poll_frame(context)) {
                None => return Poll::Ready(None),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                // Trailers are of no interest.
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Poll::Ready(Some(Ok(data)));
                    }
                }
            }
        }
    }
}

fn too_long(most: u64) -> Refusal {
    Refusal::too_large(format!("at most {most} bytes of a log are taken (--max-upload)"))
}

/// Writing failed: mostly, the disk is full.
fn no_room(_: io::Error) -> Refusal {
    Refusal::new(StatusCode::INSUFFICIENT_STORAGE, "the upload cannot be stored on the server")
}

/// What an uploaded log is called: the last part of the name that the client gives, as text of one line.
fn shown_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let mut text = String::new();
    for letter in last.chars().filter(|letter| !letter.is_control()) {
        if text.len() + letter.len_utf8() > MAX_NAME {
            break;
        }
        text.push(letter);
    }
    if text.trim().is_empty() { "upload".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_only_shown() {
        assert_eq!(shown_name(r"C:\logs\server.blg"), "server.blg");
        assert_eq!(shown_name("../../etc/passwd"), "passwd");
        assert_eq!(shown_name("a\r\nb.blg"), "ab.blg");
        assert_eq!(shown_name("/"), "upload");
        assert_eq!(shown_name(&"ä".repeat(500)).len(), MAX_NAME);
    }
}
