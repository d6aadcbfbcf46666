//! Serving one connection.

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
use tachograph_counters::IgnorePoison;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::{Notify, watch};
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt as _;

use crate::admission::{ActiveRequest, ConnectionPermit};
use crate::flush::{FlushedStream, UnflushedRequest};
use crate::guard::TokenSent;

/// Time limit for receiving the headers of a request, including the wait for its first byte.
const HEADER_TIMEOUT: Duration = Duration::from_secs(15);
/// Time limit for the TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// The kernel closes the connection if sent data is not acknowledged for this long.
const USER_TIMEOUT: Duration = Duration::from_secs(30);
/// Size of the kernel's send buffer in bytes (the kernel doubles it).
const SEND_BUFFER: usize = 256 << 10;
/// Maximum length of a request's headers, in bytes.
const MAX_HEADER: usize = 64 << 10;
/// Maximum number of headers of a request.
const MAX_HEADER_LINES: usize = 64;

/// Notified to close the connection of a stream whose reader is too slow or whose session has ended.
#[derive(Clone)]
pub(crate) struct Closing(pub(crate) Arc<Notify>);

pub(crate) async fn serve(
    stream: TcpStream,
    permit: Arc<ConnectionPermit>,
    tls: Option<TlsAcceptor>,
    router: Router,
    stopping: watch::Receiver<bool>,
) {
    // Small events are sent immediately. Errors are ignored, because the server also works without these three options.
    let _ = stream.set_nodelay(true);
    let _ = sockopt::set_socket_send_buffer_size(&stream, SEND_BUFFER);
    let _ = sockopt::set_tcp_user_timeout(&stream, USER_TIMEOUT.as_millis() as u32);
    let closing = Arc::clone(&permit);
    let serving = async {
        match tls {
            None => serve_http(stream, permit, router, stopping).await,
            Some(tls) => {
                if let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE_TIMEOUT, tls.accept(stream)).await {
                    serve_http(stream, permit, router, stopping).await;
                }
            }
        }
    };
    tokio::select! {
        () = serving => {}
        () = closing.closed() => {}
    }
}

async fn serve_http<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    permit: Arc<ConnectionPermit>,
    router: Router,
    mut stopping: watch::Receiver<bool>,
) {
    let close_stream = Closing(Arc::default());
    let request_closing = close_stream.clone();
    let token = TokenSent::default();
    let unflushed = UnflushedRequest::default();
    let stream = FlushedStream::new(stream, unflushed.clone());
    let service = service_fn(move |request: Request<Incoming>| {
        // With pipelined requests, the previous response may not be flushed yet.
        let previous = unflushed.lock().ignore_poison().take();
        let active = previous.unwrap_or_else(|| permit.begin_request());
        let unflushed = unflushed.clone();
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(request_closing.clone());
        request.extensions_mut().insert(permit.client());
        request.extensions_mut().insert(token.clone());
        let response = router.clone().oneshot(request);
        async {
            response
                .await
                .map(|response| response.map(|body| ResponseBody { body, active: Some(active), unflushed }))
        }
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(MAX_HEADER)
        .max_header_size(MAX_HEADER)
        .max_headers(MAX_HEADER_LINES);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // Errors of a connection concern only its client.
        _ = connection.as_mut() => return,
        () = close_stream.0.notified() => return,
        _ = stopping.wait_for(|is_stopping| *is_stopping) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}

/// The body of a response. It is dropped when its last bytes are in the write buffer; the request ends when these are
/// flushed.
struct ResponseBody {
    body: Body,
    active: Option<ActiveRequest>,
    unflushed: UnflushedRequest,
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        *self.unflushed.lock().ignore_poison() = self.active.take();
    }
}

impl http_body::Body for ResponseBody {
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
