//! One connection.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::net::sockopt;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::{Notify, watch};
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt as _;

use crate::admission::{Seat, Turn};
use crate::unsent::{FlushedStream, Unsent};

/// How long the header of a request, or the wait for the next one, may take.
const HEADER_TIME: Duration = Duration::from_secs(15);
/// How long the agreement on keys may take.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
/// How long a client may not take what was sent; the kernel then ends the connection.
const UNREAD_TIME: Duration = Duration::from_secs(30);
/// Bytes that the kernel holds for a client that does not take them (it takes twice as many).
const SEND_BUFFER: usize = 256 << 10;
/// Longest header of a request, all its lines.
const MAX_HEADER: usize = 64 << 10;
/// Most lines of a header.
const MAX_HEADER_LINES: usize = 64;

/// Ends the connection of a request at once: its reader is too slow.
#[derive(Clone)]
pub(crate) struct Overrun(pub(crate) Arc<Notify>);

/// Serves a connection to its end.
pub(crate) async fn serve(
    stream: TcpStream,
    seat: Arc<Seat>,
    tls: Option<TlsAcceptor>,
    router: Router,
    stopping: watch::Receiver<bool>,
) {
    // Small events go out at once. Where a kernel does not know an option, the connection works without.
    let _ = stream.set_nodelay(true);
    let _ = sockopt::set_socket_send_buffer_size(&stream, SEND_BUFFER);
    let _ = sockopt::set_tcp_user_timeout(&stream, UNREAD_TIME.as_millis() as u32);
    let closing = Arc::clone(&seat);
    let work = async {
        match tls {
            None => speak(stream, seat, router, stopping).await,
            Some(tls) => {
                if let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE_TIME, tls.accept(stream)).await {
                    speak(stream, seat, router, stopping).await;
                }
            }
        }
    };
    tokio::select! {
        () = work => {}
        () = closing.closed() => {}
    }
}

async fn speak<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    seat: Arc<Seat>,
    router: Router,
    mut stopping: watch::Receiver<bool>,
) {
    let overrun = Overrun(Arc::default());
    let mine = overrun.clone();
    let unsent = Unsent::default();
    let stream = FlushedStream::new(stream, unsent.clone());
    let service = service_fn(move |request: Request<Incoming>| {
        // A client that sends requests in a row: the answer before this one may not be flushed yet.
        let turn = unsent.take().unwrap_or_else(|| seat.begin());
        let unsent = unsent.clone();
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(mine.clone());
        request.extensions_mut().insert(seat.client());
        let answer = router.clone().oneshot(request);
        async { answer.await.map(|answer| answer.map(|body| Answered { body, turn: Some(turn), unsent })) }
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIME)
        .max_buf_size(MAX_HEADER)
        .max_header_size(MAX_HEADER)
        .max_headers(MAX_HEADER_LINES);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // What goes wrong on a connection is its client's affair.
        _ = connection.as_mut() => return,
        () = overrun.0.notified() => return,
        _ = stopping.wait_for(|is_stopping| *is_stopping) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}

/// The body of an answer. It is dropped when its last bytes are in the write buffer; the turn ends when they are flushed.
struct Answered {
    body: Body,
    turn: Option<Turn>,
    unsent: Unsent,
}

impl Drop for Answered {
    fn drop(&mut self) {
        self.turn.take().into_iter().for_each(|turn| self.unsent.put(turn));
    }
}

impl http_body::Body for Answered {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
