//! The HTTP server: listening, connections, limits, the orderly end.

use std::{
    convert::Infallible, net::SocketAddr, path::PathBuf, pin::pin, sync::Arc, thread::JoinHandle,
    time::Duration,
};

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{
    Response,
    body::{Body as _, Bytes, Incoming},
    header::{ALLOW, CONNECTION, CONTENT_TYPE, HeaderValue, RETRY_AFTER},
    server::conn::http1,
    service::service_fn,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    runtime::{Builder, Runtime},
    sync::Semaphore,
    time::{MissedTickBehavior, interval, sleep, timeout},
};

use super::{
    Pages,
    connection::open_reader,
    error::{DatabaseContext as _, EmbeddedError},
    meta::Meta,
    patience::{LOOK_EVERY, Limits, Notes, PatientStream},
    site::{Answer, Content, Method, Request, Site},
    stop::StopSignal,
    writer::Writer,
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

/// What to serve and where.
#[derive(Clone, Debug)]
pub struct ServeConfig {
    /// The database that [`load()`](super::load()) made.
    pub database: PathBuf,
    /// Address and port; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Worker threads, at least 1: as many as the guest has CPUs. The writer has a thread of its
    /// own that mostly waits for the disk.
    pub workers: usize,
    /// With or without the original's defects.
    pub behaviour: Pages,
    /// CPU time that every page burns on purpose, to plant a slow-down of known size; zero for
    /// none.
    pub extra_cpu: Duration,
    /// First part of the pages' path, without slashes; `ds2` for the original driver.
    pub directory: String,
}

/// A server that listens already: clients may connect, and are answered once it runs.
pub struct Server {
    database: PathBuf,
    listener: TcpListener,
    address: SocketAddr,
    connections: Arc<Semaphore>,
    max_connections: u32,
    site: Arc<Site>,
    writer: JoinHandle<Result<(), EmbeddedError>>,
    runtime: Runtime,
}

impl Server {
    /// Open the database, check it, start the threads, and listen.
    ///
    /// # Errors
    /// When the database is missing, foreign or not whole, or the address is taken.
    pub fn bind(config: &ServeConfig) -> Result<Self, EmbeddedError> {
        let database = &config.database;
        if !database.exists() {
            return Err(EmbeddedError::Missing(database.clone()));
        }
        let workers = config.workers.max(1);
        let max_connections = raise_file_limit(workers);
        let connection = open_reader(database).at(database, "opening the database")?;
        let meta = Meta::read(&connection, database)?;
        meta.check_tables(&connection, database)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(workers)
            .thread_name("shop-worker")
            .enable_all()
            .build()
            .map_err(|source| EmbeddedError::Thread {
                what: "workers",
                source,
            })?;
        let listener = {
            let _context = runtime.enter();
            listen(config.listen).map_err(|source| EmbeddedError::Listen {
                address: config.listen,
                source,
            })?
        };
        let address = listener
            .local_addr()
            .map_err(|source| EmbeddedError::Listen {
                address: config.listen,
                source,
            })?;
        let (writer, writer_thread) =
            Writer::start(database, config.behaviour, meta.rows().orders())?;
        let site = Site::open(
            database,
            workers,
            config.behaviour,
            &config.directory,
            meta,
            writer,
        )?
        .burning(config.extra_cpu);
        Ok(Self {
            database: database.clone(),
            listener,
            address,
            connections: Arc::new(Semaphore::new(max_connections as usize)),
            max_connections,
            site: Arc::new(site),
            writer: writer_thread,
            runtime,
        })
    }

    /// Where it listens, with the port that was taken.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Serve until `stop` is raised. Then accept no more, let requests in flight finish (at most 5
    /// s), finish the queued writes, fold the write-ahead log into the database, and return.
    ///
    /// # Errors
    /// When the log cannot be folded in; committed orders are safe in the log even then.
    pub fn run(self, stop: &StopSignal) -> Result<(), EmbeddedError> {
        let Self {
            database,
            listener,
            connections,
            max_connections,
            site,
            writer,
            runtime,
            ..
        } = self;
        // On a worker, not on this thread, so that accepting needs no hop between threads.
        let accepting = runtime.spawn(accept(
            listener,
            Arc::clone(&connections),
            Arc::clone(&site),
            stop.clone(),
        ));
        runtime.block_on(async {
            // Fails only if accepting panicked; then there is nothing more to wait for than the
            // connections.
            let _ = accepting.await;
            // Every connection holds one permit: to have them all is to have no connection left.
            let _ = timeout(STOP_PATIENCE, connections.acquire_many(max_connections)).await;
        });
        runtime.shutdown_timeout(Duration::from_secs(1));
        // The last hand on the writer's queue: the writer finishes what is queued and ends.
        drop(site);
        writer
            .join()
            .unwrap_or(Err(EmbeddedError::WriterLost(database)))
    }
}

/// Serve until `stop` is raised: [`Server::bind`] and [`Server::run`].
///
/// # Errors
/// Those of both.
pub fn serve(config: &ServeConfig, stop: &StopSignal) -> Result<(), EmbeddedError> {
    Server::bind(config)?.run(stop)
}

/// Allow this process as many files as the system lets it, and say how many connections that is.
fn raise_file_limit(workers: usize) -> u32 {
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
    let own = OTHER_FILES + 3 * workers as u64;
    u32::try_from(files.saturating_sub(own).clamp(16, 1 << 20)).unwrap_or(1 << 20)
}

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
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

/// Accept until `stop` is raised; the listening socket closes with the return.
async fn accept(
    listener: TcpListener,
    connections: Arc<Semaphore>,
    site: Arc<Site>,
    stop: StopSignal,
) {
    let mut stopped = pin!(stop.raised());
    loop {
        let accepted = async {
            // The limit first: clients beyond it wait in the kernel's queue.
            let permit = Arc::clone(&connections).acquire_owned().await;
            (permit, listener.accept().await)
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
        let (site, stop) = (Arc::clone(&site), stop.clone());
        tokio::spawn(async move {
            converse(stream, site, &stop).await;
            drop(permit);
        });
    }
}

/// One connection, to its end.
async fn converse(stream: TcpStream, site: Arc<Site>, stop: &StopSignal) {
    // An answer is one write: waiting for more to send would only delay it.
    let _ = stream.set_nodelay(true);
    let notes = Notes::new();
    let heard = Arc::clone(&notes);
    let service = service_fn(move |request| {
        let (site, notes) = (Arc::clone(&site), Arc::clone(&heard));
        async move {
            let response = respond(&site, &notes, request).await;
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
async fn respond(
    site: &Site,
    notes: &Notes,
    request: hyper::Request<Incoming>,
) -> Response<Full<Bytes>> {
    let (head, body) = request.into_parts();
    let form = match read_form(body).await {
        Ok(form) => form,
        Err(refusal) => {
            // The rest of the body will not be read, so the connection cannot be used again.
            let mut response = dress(refusal);
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
    };
    dress(site.answer(request).await)
}

async fn read_form(body: Incoming) -> Result<Bytes, Answer> {
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    let too_long = || {
        Answer::notice(
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
        Err(_) => Err(Answer::notice(
            400,
            "The form broke off",
            "The body ended before its announced length, or is no valid body.",
        )),
    }
}

/// Status, headers and body. The length header follows from the body's one buffer.
fn dress(answer: Answer) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(answer.body)));
    // Every status is one that the site names, all valid.
    *response.status_mut() = hyper::StatusCode::from_u16(answer.status)
        .unwrap_or(hyper::StatusCode::INTERNAL_SERVER_ERROR);
    let content = match answer.content {
        Content::Html => "text/html; charset=utf-8",
        Content::Json => "application/json",
    };
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content));
    match answer.status {
        405 => drop(headers.insert(ALLOW, HeaderValue::from_static("GET, POST"))),
        503 => drop(headers.insert(RETRY_AFTER, HeaderValue::from_static("1"))),
        _ => {}
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_shop_says_when_to_come_again() {
        let header = |status, name| {
            dress(Answer::notice(status, "", ""))
                .headers()
                .get(name)
                .cloned()
        };
        assert_eq!(
            header(503, RETRY_AFTER),
            Some(HeaderValue::from_static("1"))
        );
        assert_eq!(
            header(405, ALLOW),
            Some(HeaderValue::from_static("GET, POST"))
        );
        assert_eq!(header(500, RETRY_AFTER), None);
    }
}
