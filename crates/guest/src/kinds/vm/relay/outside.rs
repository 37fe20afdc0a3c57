//! The host's end: a socket for each of the guest's, whose connections are carried into the guest.

use std::{
    collections::BTreeMap,
    fs, io,
    net::{Shutdown, SocketAddr, TcpStream},
    os::unix::{
        fs::{DirBuilderExt, PermissionsExt},
        net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicUsize, mpsc},
    thread::{self, JoinHandle},
};

use rookery_host::enter_netns;

use super::{BEGIN, Relay, STACK, Slot, carry, settle};
use crate::paths::remove_tree;

/// The sockets of one start of a guest. They go, and every connection ends, when it is dropped.
#[derive(Debug)]
pub(in crate::kinds::vm) struct Outside {
    directory: PathBuf,
    listeners: Vec<(UnixListener, JoinHandle<()>)>,
    carried: Arc<Carried>,
}

/// What the threads of all sockets share.
#[derive(Debug)]
struct Carried {
    guest: SocketAddr,
    relay: Relay,
    taken: AtomicUsize,
    open: Mutex<Open>,
}

/// The connections that are being carried, by a number; no more may come once it has ended.
#[derive(Debug, Default)]
struct Open {
    ended: bool,
    next: u64,
    streams: BTreeMap<u64, (TcpStream, UnixStream)>,
}

impl Outside {
    /// Make the sockets in `directory`, which no other user may enter, and lead their connections
    /// to the guest's end at `guest`, from within `network` (a network namespace; `None` = that of
    /// this process).
    ///
    /// # Errors
    /// When a socket cannot be made, or the network not be entered; nothing is left then.
    pub(in crate::kinds::vm) fn open(
        directory: &Path,
        guest: SocketAddr,
        network: Option<&Path>,
        relay: Relay,
    ) -> io::Result<Self> {
        let carried = Arc::new(Carried {
            guest,
            relay,
            taken: AtomicUsize::new(0),
            open: Mutex::default(),
        });
        let mut outside = Self {
            directory: directory.to_owned(),
            listeners: Vec::new(),
            carried: Arc::clone(&carried),
        };
        remove_tree(directory)?;
        fs::DirBuilder::new().mode(0o700).create(directory)?;
        fs::set_permissions(directory, fs::Permissions::from_mode(0o700))?;
        for socket in &carried.relay.sockets {
            let path = directory.join(socket);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            let listener = UnixListener::bind(&path).map_err(|error| {
                io::Error::new(error.kind(), format!("{}: {error}", path.display()))
            })?;
            let thread = accepting(
                listener.try_clone()?,
                Arc::clone(&carried),
                socket.clone(),
                network,
            )?;
            outside.listeners.push((listener, thread));
        }
        Ok(outside)
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        let mut open = self.carried.open();
        open.ended = true;
        for (tcp, unix) in open.streams.values() {
            let _ = tcp.shutdown(Shutdown::Both);
            let _ = unix.shutdown(Shutdown::Both);
        }
        drop(open);
        for (listener, thread) in self.listeners.drain(..) {
            // Whoever waits for a connection wakes up without one.
            let _ = rustix::net::shutdown(&listener, rustix::net::Shutdown::Both);
            let _ = thread.join();
        }
        let _ = remove_tree(&self.directory);
    }
}

/// A thread inside the network that takes the connections of one socket. It ends after all that it
/// has taken.
fn accepting(
    listener: UnixListener,
    carried: Arc<Carried>,
    socket: String,
    network: Option<&Path>,
) -> io::Result<JoinHandle<()>> {
    let network = network.map(Path::to_owned);
    let (entered, told) = mpsc::sync_channel(1);
    let work = move || {
        let entering = network.as_deref().map_or(Ok(()), enter_netns);
        let inside = entering.is_ok();
        if entered.send(entering).is_ok() && inside {
            // Its threads are in the network as well.
            thread::scope(|scope| {
                while let Ok((unix, _)) = listener.accept() {
                    let (carried, socket) = (&carried, &socket);
                    let one = move || drop(carried.connect(&unix, socket));
                    // Without a thread for it the connection is closed, and the caller sees that.
                    let _ = thread::Builder::new()
                        .stack_size(STACK)
                        .spawn_scoped(scope, one);
                }
            });
        }
    };
    let thread = thread::Builder::new().spawn(work)?;
    told.recv()
        .unwrap_or_else(|_| Err(io::Error::other("the thread of a socket panicked")))?;
    Ok(thread)
}

impl Carried {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carry one connection. A guest that does not listen closes it.
    fn connect(&self, unix: &UnixStream, socket: &str) -> io::Result<()> {
        let Some(_slot) = Slot::take(&self.taken) else {
            return Ok(());
        };
        if self.open().ended {
            return Ok(());
        }
        let tcp = TcpStream::connect_timeout(&self.guest, BEGIN)?;
        settle(&tcp)?;
        let Some(number) = self.note(&tcp, unix)? else {
            return Ok(());
        };
        if io::Write::write_all(&mut &tcp, self.relay.request(socket).as_bytes()).is_ok() {
            carry(&tcp, unix);
        }
        self.open().streams.remove(&number);
        Ok(())
    }

    /// Note a connection, so that the end of all ends it too; `None` when that has come.
    fn note(&self, tcp: &TcpStream, unix: &UnixStream) -> io::Result<Option<u64>> {
        let streams = (tcp.try_clone()?, unix.try_clone()?);
        let mut open = self.open();
        if open.ended {
            return Ok(None);
        }
        let number = open.next;
        open.next += 1;
        open.streams.insert(number, streams);
        Ok(Some(number))
    }

    #[cfg(test)]
    fn count(&self) -> usize {
        self.taken.load(std::sync::atomic::Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        time::{Duration, Instant},
    };

    use super::*;

    fn relay() -> Relay {
        Relay::new(&["echo.sock".to_owned(), "absent.sock".to_owned()]).expect("random")
    }

    fn connected(path: &Path) -> UnixStream {
        let stream = UnixStream::connect(path).expect("connected");
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .expect("set");
        stream
    }

    #[test]
    fn a_socket_of_the_host_is_that_of_the_guest() {
        let base = tempfile::tempdir().expect("temporary directory");
        let (data, own) = (base.path().join("data"), base.path().join("own"));
        fs::create_dir(&data).expect("made");
        let relay = relay();
        let address = crate::kinds::vm::relay::inside::tests::guest(&data, &relay);
        let outside = Outside::open(&own, address, None, relay).expect("open");
        assert_eq!(
            own.metadata().expect("there").permissions().mode() & 0o777,
            0o700
        );
        let talk = |words: &[u8]| {
            let mut stream = connected(&own.join("echo.sock"));
            stream.write_all(words).expect("written");
            stream.shutdown(Shutdown::Write).expect("half closed");
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).expect("read");
            answer
        };
        let large = vec![7; 3 << 20];
        assert!(talk(&large) == large, "what is large arrives whole");
        let talks: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..20_u8)
                .map(|number| scope.spawn(move || talk(&[number; 1000])))
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().expect("no panic"))
                .collect()
        });
        assert!((0..20_u8).all(|number| talks[usize::from(number)] == [number; 1000]));
        let mut absent = connected(&own.join("absent.sock"));
        assert_eq!(
            absent.read(&mut [0; 10]).expect("closed"),
            0,
            "what the guest has not is closed at once"
        );
        drop(outside);
        assert!(!own.exists());
    }

    #[test]
    fn its_end_ends_what_is_carried() {
        let base = tempfile::tempdir().expect("temporary directory");
        let (data, own) = (base.path().join("data"), base.path().join("own"));
        fs::create_dir(&data).expect("made");
        let relay = relay();
        let address = crate::kinds::vm::relay::inside::tests::guest(&data, &relay);
        let outside = Outside::open(&own, address, None, relay).expect("open");
        let mut waiting: Vec<UnixStream> =
            (0..5).map(|_| connected(&own.join("echo.sock"))).collect();
        let carried = Arc::clone(&outside.carried);
        let begin = Instant::now();
        while carried.open().streams.len() < 5 && begin.elapsed() < Duration::from_secs(20) {
            thread::yield_now();
        }
        drop(outside);
        assert_eq!((carried.count(), carried.open().streams.len()), (0, 0));
        for stream in &mut waiting {
            assert_eq!(stream.read(&mut [0; 10]).expect("ended"), 0);
        }
        assert!(UnixStream::connect(own.join("echo.sock")).is_err());
    }

    #[test]
    fn a_guest_that_does_not_listen_closes_the_connection() {
        let base = tempfile::tempdir().expect("temporary directory");
        let own = base.path().join("own");
        // Bound and dropped: nobody listens there.
        let free = std::net::TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .expect("free");
        let _outside = Outside::open(&own, free, None, relay()).expect("open");
        assert_eq!(
            connected(&own.join("echo.sock"))
                .read(&mut [0; 10])
                .expect("closed"),
            0
        );
    }

    #[test]
    fn a_network_that_is_none_is_told() {
        let base = tempfile::tempdir().expect("temporary directory");
        let own = base.path().join("own");
        let guest = SocketAddr::from(([127, 0, 0, 1], 1));
        assert!(Outside::open(&own, guest, Some(Path::new("/nonexistent")), relay()).is_err());
        assert!(!own.exists(), "nothing is left");
        let long = Relay::new(&["x".repeat(120)]).expect("random");
        let error = Outside::open(&own, guest, None, long).expect_err("too long");
        assert!(error.to_string().contains("xxx"), "{error}");
    }
}
