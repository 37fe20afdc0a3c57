//! Looking whether a service is ready.

use std::{
    fs::File,
    io,
    net::{SocketAddr, TcpStream},
    os::fd::{AsRawFd, OwnedFd},
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::{
    io::Errno,
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with},
};

use super::Ready;

/// Limit on one attempt to connect.
const CONNECT_LIMIT: Duration = Duration::from_millis(50);
/// Longest path that fits an address of a Unix socket, bytes.
const LONGEST_ADDRESS: usize = 107;

/// Whether it is ready now. What a service says by its output is heard elsewhere.
pub(super) fn is_ready(ready: &Ready) -> bool {
    match ready {
        Ready::File(path) => path.exists(),
        Ready::Socket(path) => accepts(path).unwrap_or(false),
        Ready::Tcp(address) => port_accepts(*address),
        Ready::Log(_) => false,
    }
}

fn port_accepts(address: SocketAddr) -> bool {
    TcpStream::connect_timeout(&address, CONNECT_LIMIT).is_ok()
}

/// Whether a Unix stream socket accepts, however long its path is.
fn accepts(path: &Path) -> io::Result<bool> {
    let (_directory, path) = reachable(path)?;
    let address = SocketAddrUnix::new(path)?;
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket: OwnedFd = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    Ok(match connect(&socket, &address) {
        // A full queue is one that somebody listens to.
        Ok(()) | Err(Errno::AGAIN) => true,
        Err(_) => false,
    })
}

/// A path to `path` that is short enough for an address; it holds as long as the file given with it
/// is open.
fn reachable(path: &Path) -> io::Result<(Option<File>, PathBuf)> {
    if path.as_os_str().len() <= LONGEST_ADDRESS {
        return Ok((None, path.to_owned()));
    }
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::other("not the path of a socket"));
    };
    let directory = File::open(parent)?;
    let short = Path::new("/proc/self/fd")
        .join(directory.as_raw_fd().to_string())
        .join(name);
    Ok((Some(directory), short))
}

#[cfg(test)]
mod tests {
    use std::{fs, net::TcpListener, os::unix::net::UnixListener};

    use super::*;

    #[test]
    fn files_and_ports_are_seen() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("file");
        assert!(!is_ready(&Ready::File(file.clone())));
        fs::write(&file, "").expect("written");
        assert!(is_ready(&Ready::File(file)));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        assert!(is_ready(&Ready::Tcp(address)));
        drop(listener);
        assert!(!is_ready(&Ready::Tcp(address)));
    }

    #[test]
    fn sockets_are_seen_at_any_length_of_path_and_only_while_someone_listens() {
        let dir = tempfile::tempdir().expect("a directory");
        let deep = dir.path().join("d".repeat(120));
        fs::create_dir(&deep).expect("made");
        let (_open, short) = reachable(&deep.join("s")).expect("reachable");
        let listener = UnixListener::bind(short).expect("listens");
        let ready = Ready::Socket(deep.join("s"));
        assert!(is_ready(&ready));
        drop(listener);
        assert!(!is_ready(&ready), "a socket that nobody listens to");
        assert!(!is_ready(&Ready::Socket(deep.join("t"))));
    }
}
