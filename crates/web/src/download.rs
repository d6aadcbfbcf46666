//! Bodies that are sent bit by bit.

use std::fs::File;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::hub::Reader;
use crate::work::Place;

/// Bytes of a file that are sent at a time.
const CHUNK: usize = 64 << 10;
/// A stream without anything to say says so: proxies and browsers then know that it lives.
const SILENCE: Duration = Duration::from_secs(15);

/// The contents of a file, which holds a place among the downloads.
pub(crate) struct FileBody {
    _place: Place,
    file: tokio::fs::File,
    left: u64,
    chunk: Vec<u8>,
}

impl FileBody {
    /// All of a file, which stands at its begin.
    pub(crate) fn new(file: File, place: Place) -> io::Result<Self> {
        let left = file.metadata()?.len();
        Ok(Self { _place: place, file: tokio::fs::File::from_std(file), left, chunk: vec![0; CHUNK] })
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

/// The events of a stream.
pub(crate) struct EventBody {
    reader: Reader,
    silence: Interval,
}

impl EventBody {
    pub(crate) fn new(reader: Reader) -> Self {
        let mut silence = interval(SILENCE);
        silence.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { reader, silence }
    }
}

impl Body for EventBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let this = self.get_mut();
        if let Poll::Ready(event) = this.reader.events.poll_recv(context) {
            if this.silence.poll_tick(context).is_pending() {
                this.silence.reset();
            }
            return Poll::Ready(event.map(|event| Ok(Frame::data(event))));
        }
        ready!(this.silence.poll_tick(context));
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b": \n\n")))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::Places;

    #[tokio::test]
    async fn a_download_holds_its_place_until_it_is_dropped() {
        let places = Places::new(1);
        let place = places.take().expect("room");
        let body = FileBody::new(tempfile::tempfile().expect("a file"), place).expect("its length");
        assert!(places.take().is_none());
        drop(body);
        assert!(places.take().is_some());
    }
}
