//! The guest's end: whoever brings the token is connected to a socket of the service, as root.

use std::{
    io,
    net::{IpAddr, SocketAddr, TcpListener, TcpStream},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use super::{BEGIN, MAX_CONNECTIONS, RELAY_PORT, Relay, STACK, Slot, carry, read_line, settle};

/// Pause after an error of accepting, such as too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// Listen at the guest's address for as long as this process lives; the sockets lie below `data`.
///
/// # Errors
/// When the port is taken.
pub(crate) fn listen(address: IpAddr, relay: Relay, data: &Path) -> io::Result<()> {
    let listener = TcpListener::bind((address, RELAY_PORT))?;
    serve(listener, relay, data).map(drop)
}

/// Serve a listener from a thread of its own; gives where it listens.
fn serve(listener: TcpListener, relay: Relay, data: &Path) -> io::Result<SocketAddr> {
    let address = listener.local_addr()?;
    let (relay, data) = (Arc::new(relay), data.to_owned());
    let taken = Arc::new(AtomicUsize::new(0));
    let accept = move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else {
                thread::sleep(PAUSE);
                continue;
            };
            if taken.load(Ordering::Relaxed) < MAX_CONNECTIONS {
                let (relay, data, taken) = (Arc::clone(&relay), data.clone(), Arc::clone(&taken));
                // Without a thread for it the connection is closed, and the caller sees that.
                let _ = thread::Builder::new()
                    .stack_size(STACK)
                    .spawn(move || drop(connect(&stream, &relay, &data, &taken)));
            }
        }
    };
    thread::Builder::new().spawn(accept)?;
    Ok(address)
}

/// Lead one connection to the socket that it asks for. What it may not have, or what is not there,
/// closes it.
fn connect(stream: &TcpStream, relay: &Relay, data: &Path, taken: &AtomicUsize) -> io::Result<()> {
    let Some(_slot) = Slot::take(taken) else {
        return Ok(());
    };
    stream.set_read_timeout(Some(BEGIN))?;
    let line = read_line(stream)?;
    let Some(socket) = relay.asked(&line) else {
        return Ok(());
    };
    settle(stream)?;
    let path: PathBuf = data.join(socket);
    let service = UnixStream::connect(path)?;
    carry(stream, &service);
    Ok(())
}

#[cfg(test)]
pub(super) mod tests {
    use std::{
        io::{Read, Write},
        net::Shutdown,
        os::unix::net::UnixListener,
    };

    use super::*;

    /// A service that answers everything with what it was told, once it was told all, and the
    /// guest's end that leads to it.
    pub(crate) fn guest(data: &Path, relay: &Relay) -> SocketAddr {
        let listener = UnixListener::bind(data.join("echo.sock")).expect("bound");
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.expect("connection");
                thread::spawn(move || {
                    let mut text = Vec::new();
                    let _ = stream.read_to_end(&mut text);
                    let _ = stream.write_all(&text);
                });
            }
        });
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        serve(listener, relay.clone(), data).expect("served")
    }

    /// All that is answered to these words.
    fn said(address: SocketAddr, words: &[u8]) -> Vec<u8> {
        let mut stream = TcpStream::connect(address).expect("connected");
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .expect("set");
        let mut answer = Vec::new();
        // A connection that is closed with words unread is reset, at any of these.
        let said = stream
            .write_all(words)
            .and_then(|()| stream.shutdown(Shutdown::Write));
        let _ = said.and_then(|()| stream.read_to_end(&mut answer));
        answer
    }

    #[test]
    fn the_token_leads_to_the_service_and_nothing_else_does() {
        let data = tempfile::tempdir().expect("temporary directory");
        let relay =
            Relay::new(&["echo.sock".to_owned(), "absent.sock".to_owned()]).expect("random");
        let address = guest(data.path(), &relay);
        let with = |line: String| said(address, format!("{line}hello\nthere").as_bytes());
        assert_eq!(with(relay.request("echo.sock")), b"hello\nthere");
        assert_eq!(with(relay.request("absent.sock")), b"");
        assert_eq!(with("0 echo.sock\n".to_owned()), b"");
        assert_eq!(said(address, &[b'x'; 4096]), b"");
        assert_eq!(
            with(relay.request("echo.sock")),
            b"hello\nthere",
            "and it goes on"
        );
    }
}
