//! Listening, connections and their limits, the orderly end.

use std::{
    convert::Infallible,
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use hyper::{server::conn::http1, service::service_fn};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    runtime::{Builder, Runtime},
    sync::{Semaphore, watch},
    time::{sleep, timeout},
};
use tokio_rustls::TlsAcceptor;

use crate::{
    access::Access, answers, control::Control, error::LiveError, library::Library,
    patience::PatientStream, site::Site, tls::TlsFiles,
};

/// Longest head of a request.
const MOST_HEAD_BYTES: usize = 16 << 10;
/// Most header lines of a request.
const MOST_HEADERS: usize = 64;
/// Threads that read stores.
const READERS: usize = 4;
/// How far the server steps back behind everything else.
const NICE: i32 = 10;
/// How long open pages may take to hear the end.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// Pause of accepting when there is no file or memory left for a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What is served, and where.
#[derive(Debug)]
pub struct Options {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Whether the page may be served unencrypted where other machines reach it.
    pub plain_http_confirmed: bool,
    /// What it is served encrypted with; unencrypted without.
    pub tls: Option<TlsFiles>,
    /// The runs directories.
    pub runs: Vec<PathBuf>,
    /// The switches of the run that this process conducts, where the page may use them.
    pub control: Option<Control>,
    /// What clients may take.
    pub limits: Limits,
}

/// What clients may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at once; further ones wait.
    pub connections: u32,
    /// Pages that follow a run at once; further ones are refused. Fewer than `connections`.
    pub streams: usize,
    /// From the connection to the end of the request's head.
    pub head: Duration,
    /// For an answer that is no stream, after `head`.
    pub answer: Duration,
    /// Without taking a byte of what is ready.
    pub stall: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 128,
            streams: 48,
            head: Duration::from_secs(10),
            answer: Duration::from_secs(120),
            stall: Duration::from_secs(20),
        }
    }
}

/// A server under way; it ends with the value.
pub struct LiveServer {
    address: SocketAddr,
    site: Arc<Site>,
    closing: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl LiveServer {
    /// Listen and serve, in threads of its own.
    ///
    /// # Errors
    /// When the address may not or cannot be listened on.
    pub fn start(options: Options) -> Result<Self, LiveError> {
        let address = options.listen;
        let safe = address.ip().to_canonical().is_loopback() || options.tls.is_some();
        if !safe && !options.plain_http_confirmed {
            return Err(LiveError::NotLoopback { address });
        }
        let tls = options.tls.as_ref().map(TlsFiles::acceptor).transpose()?;
        let runtime = Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(READERS)
            .thread_name("live")
            .build()
            .map_err(LiveError::Start)?;
        let listening = |source| LiveError::Listen { address, source };
        let listener = runtime
            .block_on(TcpListener::bind(address))
            .map_err(listening)?;
        let address = listener.local_addr().map_err(listening)?;
        let access = Access::new(address, options.tls.as_ref()).map_err(LiveError::Random)?;
        let library = Arc::new(Library::new(options.runs));
        let (closing, closed) = watch::channel(false);
        let limits = options.limits;
        let site = Arc::new(Site::new(
            access,
            Arc::clone(&library),
            options.control,
            limits.streams,
            closed.clone(),
        ));
        // It ends by itself after what it is reading.
        spawn("live-library", move || library.work())?;
        let served = Arc::clone(&site);
        let thread = spawn("live", move || {
            let listening = Listening { listener, tls };
            serve(runtime, listening, served, limits, closed)
        })?;
        Ok(Self {
            address,
            site,
            closing,
            thread: Some(thread),
        })
    }

    /// Where it listens, with the port that was taken.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address to open in a browser, with the token that lets one in.
    #[must_use]
    pub fn url(&self) -> String {
        self.site.access.url()
    }

    /// The run in `directory` is the one that this process conducts: the page opens it, and its
    /// switches are those of [`Options::control`].
    pub fn conducts(&self, directory: &Path) {
        // One that is gone already has no page.
        if let Ok(directory) = directory.canonicalize() {
            self.site.conducts(directory);
            self.site.library.list();
        }
    }
}

/// A thread that steps back behind all others: a measurement may be under way.
fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, LiveError> {
    let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
        // Of this thread alone, and of those that it starts.
        let _ = rustix::process::setpriority_process(None, NICE);
        work();
    });
    thread.map_err(LiveError::Start)
}

impl Drop for LiveServer {
    fn drop(&mut self) {
        let _ = self.closing.send(true);
        self.site.library.close();
        if let Some(thread) = self.thread.take() {
            // A panic was reported when it happened.
            let _ = thread.join();
        }
    }
}

/// Where connections come from, and what they are decrypted with.
struct Listening {
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
}

/// Accept until the end, then let open pages hear of it.
fn serve(
    runtime: Runtime,
    listening: Listening,
    site: Arc<Site>,
    limits: Limits,
    closed: watch::Receiver<bool>,
) {
    let connections = Arc::new(Semaphore::new(limits.connections as usize));
    runtime.block_on(async {
        accept(listening, &connections, &site, limits, closed).await;
        // Each connection holds one permit.
        let all = connections.acquire_many(limits.connections);
        let _ = timeout(LAST_WORDS, all).await;
    });
    runtime.shutdown_timeout(LAST_WORDS);
}

async fn accept(
    Listening { listener, tls }: Listening,
    connections: &Arc<Semaphore>,
    site: &Arc<Site>,
    limits: Limits,
    mut closed: watch::Receiver<bool>,
) {
    loop {
        let next = async {
            // The limit first: connections beyond it wait in the kernel's queue.
            let permit = Arc::clone(connections).acquire_owned().await;
            (permit, listener.accept().await)
        };
        let (permit, stream) = tokio::select! {
            biased;
            _ = closed.changed() => return,
            next = next => match next {
                (Ok(permit), Ok((stream, _))) => (permit, stream),
                (Err(_), _) => return,
                (Ok(_), Err(_)) => {
                    sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            },
        };
        let (site, tls) = (Arc::clone(site), tls.clone());
        tokio::spawn(async move {
            // A broken connection is the client's matter.
            let _ = receive(stream, tls, site, limits).await;
            drop(permit);
        });
    }
}

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Stage {
    /// The head of the request is still to come.
    Head,
    /// The answer is made and sent.
    Answer,
    /// A stream is sent, which has no end of its own.
    Stream,
}

/// A connection, decrypted where it is encrypted.
async fn receive(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    site: Arc<Site>,
    limits: Limits,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    match tls {
        None => converse(stream, site, limits).await,
        Some(tls) => {
            let stream = timeout(limits.head, tls.accept(stream)).await??;
            converse(stream, site, limits).await
        }
    }
}

/// One request and its answer: connections are not kept, so that none can be held by saying
/// nothing.
async fn converse<S>(stream: S, site: Arc<Site>, limits: Limits) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let stage = Arc::new(AtomicU8::new(Stage::Head as u8));
    let noted = Arc::clone(&stage);
    let service = service_fn(move |request| {
        let (site, noted) = (Arc::clone(&site), Arc::clone(&noted));
        async move {
            noted.store(Stage::Answer as u8, Ordering::Relaxed);
            let answer = site.answer(request).await;
            if answers::is_stream(&answer) {
                noted.store(Stage::Stream as u8, Ordering::Relaxed);
            }
            Ok::<_, Infallible>(answer)
        }
    });
    let connection = http1::Builder::new()
        .keep_alive(false)
        .max_headers(MOST_HEADERS)
        .max_buf_size(MOST_HEAD_BYTES)
        .serve_connection(PatientStream::new(stream, limits.stall), service);
    let mut connection = pin!(connection);
    for (time, given_up) in [(limits.head, Stage::Head), (limits.answer, Stage::Answer)] {
        tokio::select! {
            ended = connection.as_mut() => return ended.map_err(io::Error::other),
            () = sleep(time) => {
                if stage.load(Ordering::Relaxed) <= given_up as u8 {
                    return Ok(());
                }
            }
        }
    }
    connection.await.map_err(io::Error::other)
}
