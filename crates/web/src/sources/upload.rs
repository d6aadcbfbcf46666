//! Logs that clients upload.

use std::os::fd::AsRawFd as _;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use axum::http::StatusCode;
use bytes::Bytes;
use http_body::Body as _;
use tokio::io::AsyncWriteExt as _;
use tokio::time::{Instant, timeout_at};

use super::{Log, Origin, Sources};
use crate::answer::Refusal;

/// Most uploads that are received at a time.
const MAX_ARRIVING: usize = 4;
/// How long a client may send nothing.
const SILENCE: Duration = Duration::from_secs(30);
/// Bytes a second, from the begin of an upload to any moment of it, that are waited for. The slowest telephone lines, of
/// modems and of GSM, bring more; who sends a byte now and then would hold a place of others for ever.
const LEAST_RATE: u64 = 4 << 10;
/// What an upload may take in addition: a line may be slow to begin.
const HEAD_START: Duration = Duration::from_secs(60);
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
        self.check_memory()?;
        let mut open = self.lock();
        if open.arriving >= MAX_ARRIVING {
            return Err(Refusal::too_many(format!(
                "{MAX_ARRIVING} uploads are being received already; try again when one of them has ended"
            )));
        }
        let uploaded = open.logs.values().filter(|log| log.origin == Origin::Uploaded).count();
        if uploaded + open.arriving >= self.uploads.max_count {
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
    /// Receives a log and begins to read it. Its file has no name, so that nothing stays of it however the server ends.
    pub(crate) async fn receive(self, name: &str, mut body: Body) -> Result<Arc<Log>, Refusal> {
        let folder = self.0.uploads.folder.clone();
        let made = tokio::task::spawn_blocking(move || tempfile::tempfile_in(folder));
        let made = made.await.map_err(|_| Refusal::busy("the server ends"))?;
        let mut file = tokio::fs::File::from_std(made.map_err(no_room)?);
        let began = Instant::now();
        let mut received = 0;
        loop {
            let (silent, slow) = (Instant::now() + SILENCE, began + longest(received));
            let Ok(chunk) = timeout_at(silent.min(slow), Chunk(&mut body)).await else {
                return Err(Refusal::new(
                    StatusCode::REQUEST_TIMEOUT,
                    match silent < slow {
                        true => "nothing came for half a minute".to_owned(),
                        false => format!("the upload is slower than {LEAST_RATE} bytes a second"),
                    },
                ));
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
        let file = file.into_std().await;
        let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        let log = self.0.insert(Origin::Uploaded, vec![(shown_name(name), path)], Some(file))?;
        log.read(&self.0.work, None);
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

fn no_room(_: std::io::Error) -> Refusal {
    Refusal::no_room("upload")
}

/// How long an upload may have taken once so many bytes came.
fn longest(received: u64) -> Duration {
    HEAD_START + Duration::from_secs(received / LEAST_RATE)
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
    use tachograph_logs::ReadOptions;

    use super::*;
    use crate::options::Uploads;
    use crate::work::Work;

    /// Sends so many bytes after each wait.
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

    /// What becomes of an upload of pieces that come one after another, and after how many seconds.
    fn receive(bytes: usize, wait: Duration, pieces: usize) -> (Result<(), String>, u64) {
        // Time goes by when nothing else is left to do.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        runtime.expect("a runtime").block_on(async {
            let folder = tempfile::tempdir().expect("a folder");
            let uploads = Uploads { folder: folder.path().to_path_buf(), ..Uploads::default() };
            let sources =
                Sources::new(&[], uploads, ReadOptions::default(), None, Work::new(1)).expect("no files");
            let body = Body::new(Trickle { wait: tokio::time::interval(wait), bytes, left: pieces });
            let began = Instant::now();
            let upload = sources.begin_upload(None).expect("a place");
            let outcome = upload.receive("x.blg", body).await;
            let outcome = outcome.map(drop).map_err(|refusal| refusal.message().to_owned());
            assert_eq!(sources.lock().arriving, 0);
            assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 0);
            (outcome, began.elapsed().as_secs())
        })
    }

    #[test]
    fn an_upload_must_go_on_at_the_pace_of_a_slow_line() {
        let silent = Err("nothing came for half a minute".to_owned());
        assert_eq!(receive(1, Duration::from_secs(31), 5), (silent, 30));
        let slow = Err("the upload is slower than 4096 bytes a second".to_owned());
        assert_eq!(receive(1, Duration::from_secs(29), 1000), (slow, 60));
        // 56 kbit/s, for an hour; and a line that stands still for a while at the begin.
        assert_eq!(receive(7000, Duration::from_secs(1), 3600), (Ok(()), 3600));
        assert_eq!(receive(120_000, Duration::from_secs(29), 10), (Ok(()), 290));
    }

    #[test]
    fn names_are_only_shown() {
        assert_eq!(shown_name(r"C:\logs\server.blg"), "server.blg");
        assert_eq!(shown_name("../../etc/passwd"), "passwd");
        assert_eq!(shown_name("a\r\nb.blg"), "ab.blg");
        assert_eq!(shown_name("/"), "upload");
        assert_eq!(shown_name(&"ä".repeat(500)).len(), MAX_NAME);
    }
}
