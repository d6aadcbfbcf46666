//! When an answer is sent: after its last byte has left the write buffer.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::admission::Turn;

/// The turn of an answer whose last bytes are still in the write buffer of its connection.
#[derive(Clone, Default)]
pub(crate) struct Unsent(Arc<Mutex<Option<Turn>>>);

impl Unsent {
    pub(crate) fn put(&self, turn: Turn) {
        *self.lock() = Some(turn);
    }

    pub(crate) fn take(&self) -> Option<Turn> {
        self.lock().take()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Turn>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A stream that ends the turn of an answer when it is flushed. hyper flushes the stream only when its own buffer is empty.
pub(crate) struct FlushedStream<S> {
    stream: S,
    unsent: Unsent,
}

impl<S> FlushedStream<S> {
    pub(crate) fn new(stream: S, unsent: Unsent) -> Self {
        Self { stream, unsent }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for FlushedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for FlushedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        drop(self.unsent.take());
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
