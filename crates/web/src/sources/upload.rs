//! Receiving logs from clients.

use std::future::poll_fn;
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::StatusCode;
use bytes::Bytes;
use http_body::{Body as _, Frame};
use tokio::io::AsyncWriteExt as _;
use tokio::time::{Instant, timeout_at};

use super::{Log, Origin, Sources};
use crate::response::ApiError;

/// Maximum number of concurrent uploads.
const MAX_RECEIVING: usize = 4;
/// Maximum time between two chunks.
const MAX_PAUSE: Duration = Duration::from_secs(30);
/// Minimum average rate since the start of an upload, in bytes per second. Even slow modems are faster. Without this limit,
/// a client that sends a byte now and then would block others forever.
const MIN_RATE: u64 = 4 << 10;
/// How long an upload can be slower than [`MIN_RATE`] at first.
const GRACE: Duration = Duration::from_secs(60);
/// Maximum length of a log's name, in bytes.
const MAX_NAME: usize = 200;

/// An upload in progress. It counts toward the limit until this is dropped.
pub(crate) struct Upload<'a>(&'a Sources);

impl Drop for Upload<'_> {
    fn drop(&mut self) {
        self.0.lock().receiving -= 1;
    }
}

impl Sources {
    /// Admits an upload; `bytes` is its length, if known.
    pub(crate) fn begin_upload(&self, bytes: Option<u64>) -> Result<Upload<'_>, ApiError> {
        if bytes.is_some_and(|bytes| bytes > self.uploads.max_bytes) {
            return Err(too_long(self.uploads.max_bytes));
        }
        self.check_memory()?;
        let mut state = self.lock();
        if state.receiving >= MAX_RECEIVING {
            return Err(ApiError::too_many_requests(format!(
                "the limit of {MAX_RECEIVING} concurrent uploads is reached; try again later"
            )));
        }
        let uploaded = state.logs.values().filter(|log| log.origin == Origin::Uploaded).count();
        if uploaded + state.receiving >= self.uploads.max_count {
            return Err(ApiError::too_many_requests(format!(
                "the limit of {} uploaded logs is reached; close one",
                self.uploads.max_count
            )));
        }
        state.receiving += 1;
        Ok(Upload(self))
    }
}

impl Upload<'_> {
    /// Receives a log and starts to read it. The file has no name, so nothing remains on the disk even if the server
    /// is killed.
    pub(crate) async fn receive(self, name: &str, mut body: Body) -> Result<Arc<Log>, ApiError> {
        let folder = self.0.uploads.folder.clone();
        let created = tokio::task::spawn_blocking(move || tempfile::tempfile_in(folder));
        let created = created.await.map_err(|_| ApiError::unavailable("the server is shutting down"))?;
        let mut file = tokio::fs::File::from_std(created.map_err(disk_full)?);
        let began = Instant::now();
        let mut received = 0;
        loop {
            let (pause_end, deadline) = (Instant::now() + MAX_PAUSE, began + max_elapsed(received));
            let Ok(chunk) = timeout_at(pause_end.min(deadline), next_chunk(&mut body)).await else {
                return Err(ApiError::new(
                    StatusCode::REQUEST_TIMEOUT,
                    match pause_end < deadline {
                        true => "no data for half a minute".to_owned(),
                        false => format!("the upload is slower than {MIN_RATE} bytes per second"),
                    },
                ));
            };
            let Some(chunk) = chunk else { break };
            let chunk = chunk.map_err(|_| ApiError::bad_request("the upload is truncated"))?;
            received += chunk.len() as u64;
            if received > self.0.uploads.max_bytes {
                return Err(too_long(self.0.uploads.max_bytes));
            }
            file.write_all(&chunk).await.map_err(disk_full)?;
        }
        file.flush().await.map_err(disk_full)?;
        if received == 0 {
            return Err(ApiError::bad_request("the upload is empty"));
        }
        let file = file.into_std().await;
        let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        let log = self.0.insert(Origin::Uploaded, vec![(display_name(name), path)], Some(file))?;
        log.read(&self.0.workers, None);
        Ok(log)
    }
}

/// The next data chunk of a body. Trailers are skipped.
async fn next_chunk(body: &mut Body) -> Option<Result<Bytes, axum::Error>> {
    loop {
        match poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await?.map(Frame::into_data) {
            Ok(Ok(data)) => return Some(Ok(data)),
            Ok(Err(_)) => {}
            Err(error) => return Some(Err(error)),
        }
    }
}

fn too_long(max: u64) -> ApiError {
    ApiError::too_large(format!("the log is longer than {max} bytes, the limit of this server"))
}

fn disk_full(_: std::io::Error) -> ApiError {
    ApiError::disk_full("upload")
}

/// The maximum time from the start of an upload to its next chunk, after `received` bytes.
fn max_elapsed(received: u64) -> Duration {
    GRACE + Duration::from_secs(received / MIN_RATE)
}

/// The name of an uploaded log: the client's name for it, without folders and control characters.
fn display_name(name: &str) -> String {
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
    use std::task::{Context, Poll, ready};

    use tachograph_logs::ReadOptions;

    use super::*;
    use crate::options::Uploads;
    use crate::workers::Workers;

    /// A body that sends a chunk after each wait.
    struct Trickle {
        wait: tokio::time::Interval,
        bytes: usize,
        left: usize,
    }

    impl http_body::Body for Trickle {
        type Data = Bytes;
        type Error = std::convert::Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<Option<Result<http_body::Frame<Bytes>, Self::Error>>> {
            ready!(self.wait.poll_tick(context));
            let Some(left) = self.left.checked_sub(1) else { return Poll::Ready(None) };
            self.left = left;
            Poll::Ready(Some(Ok(http_body::Frame::data(vec![b'x'; self.bytes].into()))))
        }
    }

    /// The outcome of a slow upload, and its duration in seconds.
    fn receive(bytes: usize, wait: Duration, chunks: usize) -> (Result<(), String>, u64) {
        // The paused clock advances when all tasks wait.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        runtime.expect("a runtime").block_on(async {
            let folder = tempfile::tempdir().expect("a folder");
            let uploads = Uploads { folder: folder.path().to_path_buf(), ..Uploads::default() };
            let sources = Sources::new(&[], None, uploads, ReadOptions::default(), None, Workers::new(1))
                .expect("no files");
            let body = Body::new(Trickle { wait: tokio::time::interval(wait), bytes, left: chunks });
            let began = Instant::now();
            let upload = sources.begin_upload(None).expect("admitted");
            let outcome = upload.receive("x.blg", body).await;
            let outcome = outcome.map(drop).map_err(|error| error.message.to_string());
            assert_eq!(sources.lock().receiving, 0);
            assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 0);
            (outcome, began.elapsed().as_secs())
        })
    }

    #[test]
    fn uploads_that_pause_or_are_too_slow_are_refused() {
        let paused = Err("no data for half a minute".to_owned());
        assert_eq!(receive(1, Duration::from_secs(31), 5), (paused, 30));
        let slow = Err("the upload is slower than 4096 bytes per second".to_owned());
        assert_eq!(receive(1, Duration::from_secs(29), 1000), (slow, 60));
        // 56 kbit/s for an hour; a connection with long pauses.
        assert_eq!(receive(7000, Duration::from_secs(1), 3600), (Ok(()), 3600));
        assert_eq!(receive(120_000, Duration::from_secs(29), 10), (Ok(()), 290));
    }

    #[test]
    fn names_are_reduced_to_one_line_without_folders() {
        assert_eq!(display_name(r"C:\logs\server.blg"), "server.blg");
        assert_eq!(display_name("../../etc/passwd"), "passwd");
        assert_eq!(display_name("a\r\nb.blg"), "ab.blg");
        assert_eq!(display_name("/"), "upload");
        assert_eq!(display_name(&"ä".repeat(500)).len(), MAX_NAME);
    }
}
