//! Listening, connections, limits, the orderly end.

use std::{convert::Infallible, io, net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{
    Response,
    body::{Body as _, Bytes, Incoming},
    header::{CONNECTION, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpSocket, TcpStream},
    runtime::{Builder, Runtime},
    sync::Semaphore,
    time::{MissedTickBehavior, interval, sleep, timeout},
};
use tokio_rustls::TlsAcceptor;

use super::{
    body::SentBody,
    error::ServerError,
    message::{Answer, AnswerBody, FullAnswer, HttpSite, Method, Request},
    patience::{LOOK_EVERY, Limits, Notes, PatientStream},
    stop::StopSignal,
};

/// Longest request head, and longest read ahead of it.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// Most header lines of a request.
const MAX_HEADERS: usize = 64;

/// Longest body of a POST; longer ones are answered 413.
const MAX_FORM_BYTES: usize = 64 * 1024;

/// How long requests in flight may take after the server was asked to stop.
const STOP_PATIENCE: Duration = Duration::from_secs(5);

/// Connections that may wait to be accepted; the kernel's own limit is usually the same.
const BACKLOG: u32 = 4_096;

/// Files that are not connections: the database and its log for every worker, standard streams, the
/// runtime's own.
const OTHER_FILES: u64 = 64;

/// Pause of accepting when the process or the machine has no file or memory left for a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// A server that listens already: clients may connect, and are answered once it runs.
pub(crate) struct HttpServer {
    listener: TcpListener,
    address: SocketAddr,
    /// Where it speaks TLS, beside the other.
    encrypted: Option<(TcpListener, TlsAcceptor)>,
    connections: Arc<Semaphore>,
    max_connections: u32,
    runtime: Runtime,
}

impl HttpServer {
    /// Start `workers` threads of this name, and listen.
    ///
    /// # Errors
    /// When the threads cannot be started or the address is taken.
    pub(crate) fn bind(
        address: SocketAddr,
        workers: usize,
        thread_name: &str,
    ) -> Result<Self, ServerError> {
        let workers = workers.max(1);
        let max_connections = raise_file_limit(OTHER_FILES + 3 * workers as u64);
        let runtime = Builder::new_multi_thread()
            .worker_threads(workers)
            .thread_name(thread_name)
            .enable_all()
            .build()
            .map_err(ServerError::Workers)?;
        let listener = listen_within(&runtime, address)?;
        let address = listener
            .local_addr()
            .map_err(|source| ServerError::Listen { address, source })?;
        Ok(Self {
            listener,
            address,
            encrypted: None,
            connections: Arc::new(Semaphore::new(max_connections as usize)),
            max_connections,
            runtime,
        })
    }

    /// Listen at a second address, for encrypted connections.
    ///
    /// # Errors
    /// When the address is taken.
    pub(crate) fn encrypted_at(
        self,
        address: SocketAddr,
        acceptor: TlsAcceptor,
    ) -> Result<Self, ServerError> {
        let listener = listen_within(&self.runtime, address)?;
        Ok(Self {
            encrypted: Some((listener, acceptor)),
            ..self
        })
    }

    /// Where it listens, with the port that was taken.
    pub(crate) fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Where it listens for encrypted connections.
    pub(crate) fn encrypted_addr(&self) -> Option<SocketAddr> {
        let (listener, _) = self.encrypted.as_ref()?;
        listener.local_addr().ok()
    }

    /// Serve until `stop` is raised. Then accept no more, and let requests in flight finish (at
    /// most 5 s).
    pub(crate) fn run<S: HttpSite>(self, site: Arc<S>, stop: &StopSignal) {
        let Self {
            listener,
            encrypted,
            connections,
            max_connections,
            runtime,
            ..
        } = self;
        let encrypted = encrypted.map(|(listener, acceptor)| (listener, Some(acceptor)));
        let all = std::iter::once((listener, None)).chain(encrypted);
        // On workers, not on this thread, so that accepting needs no hop between threads.
        let accepting: Vec<_> = all
            .map(|(listener, acceptor)| {
                let connections = Arc::clone(&connections);
                let accepting = Accepting {
                    listener,
                    acceptor,
                    connections,
                    site: Arc::clone(&site),
                    stop: stop.clone(),
                };
                runtime.spawn(accepting.go_on())
            })
            .collect();
        runtime.block_on(async {
            for accepting in accepting {
                // Fails only if accepting panicked; then there is nothing more to wait for than
                // the connections.
                let _ = accepting.await;
            }
            // Every connection holds one permit: to have them all is to have no connection left.
            let _ = timeout(STOP_PATIENCE, connections.acquire_many(max_connections)).await;
        });
        runtime.shutdown_timeout(Duration::from_secs(1));
    }
}

/// Listen on a runtime.
fn listen_within(runtime: &Runtime, address: SocketAddr) -> Result<TcpListener, ServerError> {
    let _context = runtime.enter();
    listen(address).map_err(|source| ServerError::Listen { address, source })
}

/// Allow this process as many files as the system lets it, and say how many connections that is
/// beside `own` files that are none.
pub(crate) fn raise_file_limit(own: u64) -> u32 {
    let limit = getrlimit(Resource::Nofile);
    // Refused only beyond the hard limit, which is not asked for; the old limit holds then.
    let raised = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    )
    .is_ok();
    let files = if raised { limit.maximum } else { limit.current }.unwrap_or(u64::MAX);
    u32::try_from(files.saturating_sub(own).clamp(16, 1 << 20)).unwrap_or(1 << 20)
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()
    } else {
        TcpSocket::new_v6()
    }?;
    // A guest that starts again must not wait for the connections of its former life.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// An address at which connections are accepted.
struct Accepting<S> {
    listener: TcpListener,
    /// Connections are encrypted.
    acceptor: Option<TlsAcceptor>,
    connections: Arc<Semaphore>,
    site: Arc<S>,
    stop: StopSignal,
}

impl<S: HttpSite> Accepting<S> {
    /// Accept until `stop` is raised; the listening socket closes with the return.
    async fn go_on(self) {
        let mut stopped = pin!(self.stop.raised());
        loop {
            let accepted = async {
                // The limit first: clients beyond it wait in the kernel's queue.
                let permit = Arc::clone(&self.connections).acquire_owned().await;
                (permit, self.listener.accept().await)
            };
            let (permit, stream) = tokio::select! {
                biased;
                () = &mut stopped => return,
                (permit, accepted) = accepted => match (permit, accepted) {
                    (Ok(permit), Ok((stream, _))) => (permit, stream),
                    (Err(_), _) => return,
                    (_, Err(_)) => {
                        sleep(ACCEPT_PAUSE).await;
                        continue;
                    }
                },
            };
            let (site, stop) = (Arc::clone(&self.site), self.stop.clone());
            let acceptor = self.acceptor.clone();
            tokio::spawn(async move {
                begin(stream, acceptor, site, &stop).await;
                drop(permit);
            });
        }
    }
}

/// One connection, to its end.
async fn begin<S: HttpSite>(
    stream: TcpStream,
    acceptor: Option<TlsAcceptor>,
    site: Arc<S>,
    stop: &StopSignal,
) {
    // An answer is one write: waiting for more to send would only delay it.
    let _ = stream.set_nodelay(true);
    let Some(acceptor) = acceptor else {
        return converse(stream, site, stop).await;
    };
    // A client that does not agree has been told by the handshake.
    if let Ok(Ok(stream)) = timeout(Limits::SERVER.request, acceptor.accept(stream)).await {
        converse(stream, site, stop).await;
    }
}

/// The requests of a connection.
async fn converse<S: HttpSite>(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    site: Arc<S>,
    stop: &StopSignal,
) {
    let notes = Notes::new();
    let heard = Arc::clone(&notes);
    let service = service_fn(move |request| {
        let (site, notes) = (Arc::clone(&site), Arc::clone(&heard));
        async move {
            let response = respond(site.as_ref(), &notes, request).await;
            notes.answered();
            Ok::<_, Infallible>(response)
        }
    });
    let connection = http1::Builder::new()
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(PatientStream::new(stream, Arc::clone(&notes)), service);
    let mut connection = pin!(connection);
    let mut stopped = pin!(stop.raised());
    let mut stopping = false;
    let mut looks = interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            // A broken connection is the client's matter; hyper has told it what can be told.
            _ = connection.as_mut() => return,
            () = &mut stopped, if !stopping => {
                stopping = true;
                connection.as_mut().graceful_shutdown();
            }
            _ = looks.tick() => if notes.exceeded(Limits::SERVER) { return },
        }
    }
}

/// Read the request's form, ask the site, dress the answer.
async fn respond<S: HttpSite>(
    site: &S,
    notes: &Notes,
    request: hyper::Request<Incoming>,
) -> Response<SentBody> {
    let (head, body) = request.into_parts();
    let form = match read_form::<S>(body).await {
        Ok(form) => form,
        Err(refusal) => {
            // The rest of the body will not be read, so the connection cannot be used again.
            let mut response = dress(refusal.into());
            response
                .headers_mut()
                .insert(CONNECTION, HeaderValue::from_static("close"));
            return response;
        }
    };
    notes.request_complete();
    let method = match head.method {
        hyper::Method::GET => Method::Get,
        hyper::Method::POST => Method::Post,
        _ => Method::Other,
    };
    let form = String::from_utf8_lossy(&form);
    let request = Request {
        method,
        path: head.uri.path(),
        query: head.uri.query().unwrap_or(""),
        form: &form,
        headers: Some(&head.headers),
    };
    dress(site.answer(request).await.into())
}

async fn read_form<S: HttpSite>(body: Incoming) -> Result<Bytes, Answer> {
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    let too_long = || {
        S::refusal(
            413,
            "The form is too long",
            "A form may have at most 64 KiB.",
        )
    };
    if body.size_hint().lower() > MAX_FORM_BYTES as u64 {
        return Err(too_long());
    }
    match Limited::new(body, MAX_FORM_BYTES).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => Err(too_long()),
        Err(_) => Err(S::refusal(
            400,
            "The form broke off",
            "The body ended before its announced length, or is no valid body.",
        )),
    }
}

impl From<AnswerBody> for SentBody {
    fn from(body: AnswerBody) -> Self {
        match body {
            AnswerBody::Bytes(bytes) => Self::Bytes(Full::new(Bytes::from(bytes))),
            AnswerBody::File(file) => Self::File(file),
        }
    }
}

/// A body as it is sent, for tests of sites.
#[cfg(test)]
pub(crate) fn sent(body: AnswerBody) -> impl hyper::body::Body<Data = Bytes, Error = io::Error> {
    SentBody::from(body)
}

/// Status, headers and body. The length header follows from the body's length.
fn dress(answer: FullAnswer) -> Response<SentBody> {
    let mut response = Response::new(answer.body.into());
    // Every status is one that the site names, all valid.
    *response.status_mut() = hyper::StatusCode::from_u16(answer.status)
        .unwrap_or(hyper::StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().extend(answer.headers);
    response
}
