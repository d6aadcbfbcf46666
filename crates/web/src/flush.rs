//! Detects when a response is sent: when its last byte has left the write buffer.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use tachograph_counters::IgnorePoison;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::admission::ActiveRequest;

/// The request of a connection whose response is still in the write buffer, if any.
pub(crate) type UnflushedRequest = Arc<Mutex<Option<ActiveRequest>>>;

/// A stream that ends the active request when it is flushed: hyper flushes it only after emptying the write buffer.
pub(crate) struct FlushedStream<S> {
    stream: S,
    unflushed: UnflushedRequest,
}

impl<S> FlushedStream<S> {
    pub(crate) fn new(stream: S, unflushed: UnflushedRequest) -> Self {
        Self { stream, unflushed }
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
        drop(self.unflushed.lock().ignore_poison().take());
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
