//! Streaming bodies: files and events.

use std::fs::File;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::hub::{GZIP_HEADER, StreamReader, comment};

/// Bytes of a file per frame.
const CHUNK_BYTES: usize = 64 << 10;
/// A stream sends a comment at this interval, so that proxies and browsers keep the connection if events are rare.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// A body with the contents of a file. It counts as a download until it is dropped.
pub(crate) struct FileBody {
    _permit: OwnedSemaphorePermit,
    file: tokio::fs::File,
    /// The number of bytes that are not sent yet.
    left: u64,
    chunk: Vec<u8>,
}

impl FileBody {
    /// The file must be positioned at its start.
    pub(crate) fn new(file: File, permit: OwnedSemaphorePermit) -> io::Result<Self> {
        let left = file.metadata()?.len();
        Ok(Self { _permit: permit, file: tokio::fs::File::from_std(file), left, chunk: vec![0; CHUNK_BYTES] })
    }

    pub(crate) fn len(&self) -> u64 {
        self.left
    }
}

impl Body for FileBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let this = self.get_mut();
        if this.left == 0 {
            return Poll::Ready(None);
        }
        let mut buffer = ReadBuf::new(&mut this.chunk);
        let read = ready!(Pin::new(&mut this.file).poll_read(context, &mut buffer));
        let bytes = buffer.filled();
        Poll::Ready(Some(match read {
            Err(error) => Err(error),
            Ok(()) if bytes.is_empty() => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(()) => {
                let bytes = &bytes[..bytes.len().min(this.left.try_into().unwrap_or(usize::MAX))];
                this.left -= bytes.len() as u64;
                Ok(Frame::data(Bytes::copy_from_slice(bytes)))
            }
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

/// A stream of server-sent events.
pub(crate) struct EventBody {
    reader: StreamReader,
    keep_alive: Interval,
    /// The header of a compressed stream until it is sent.
    header: Option<Bytes>,
}

impl EventBody {
    pub(crate) fn new(reader: StreamReader) -> Self {
        let mut keep_alive = interval(KEEP_ALIVE);
        keep_alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let header = reader.is_gzip.then(|| Bytes::from_static(GZIP_HEADER));
        Self { reader, keep_alive, header }
    }
}

impl Body for EventBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let this = self.get_mut();
        if let Some(header) = this.header.take() {
            return Poll::Ready(Some(Ok(Frame::data(header))));
        }
        if let Poll::Ready(event) = this.reader.events.poll_recv(context) {
            return Poll::Ready(event.map(|event| Ok(Frame::data(event))));
        }
        ready!(this.keep_alive.poll_tick(context));
        Poll::Ready(Some(Ok(Frame::data(comment(this.reader.is_gzip)))))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::Semaphore;

    use super::*;

    #[tokio::test]
    async fn a_download_counts_until_it_is_dropped() {
        let downloads = Arc::new(Semaphore::new(1));
        let permit = Arc::clone(&downloads).try_acquire_owned().expect("a permit");
        let body = FileBody::new(tempfile::tempfile().expect("a file"), permit).expect("its length");
        assert_eq!(downloads.available_permits(), 0);
        drop(body);
        assert_eq!(downloads.available_permits(), 1);
    }
}
