//! The driver enters a network namespace. Needs root; set `ROOKERY_SKIP_ROOT_TESTS` to leave it out
//! on purpose.

use std::{
    net::{SocketAddr, TcpStream},
    path::PathBuf,
    process::Command,
    sync::mpsc,
    thread,
};

use rookery_testkit::{Behaviour, Server, page};
use rustix::thread::{UnshareFlags, gettid, unshare_unsafe};

use crate::common::{config, measure, operation, page_script};

/// A thread in a network namespace of its own that runs a server there until the sender is dropped.
fn server_in_namespace(done: mpsc::Receiver<()>, tell: mpsc::Sender<(PathBuf, SocketAddr)>) {
    // SAFETY: only this new thread gets a network namespace of its own; no memory or descriptor
    // table is unshared.
    unsafe { unshare_unsafe(UnshareFlags::NEWNET) }
        .expect("a namespace of its own; this test needs root (or ROOKERY_SKIP_ROOT_TESTS)");
    let up = Command::new("ip")
        .args(["link", "set", "lo", "up"])
        .status()
        .expect("the command ip");
    assert!(up.success());
    let server = Server::start(Behaviour::Raw(page("inside"))).expect("a server");
    let path = PathBuf::from(format!(
        "/proc/self/task/{}/ns/net",
        gettid().as_raw_nonzero()
    ));
    tell.send((path, server.address()))
        .expect("the test listens");
    // Ends when the test drops its sender.
    let _ = done.recv();
}

#[test]
fn load_goes_into_the_namespace_and_nowhere_else() {
    if std::env::var_os("ROOKERY_SKIP_ROOT_TESTS").is_some() {
        return;
    }
    let (finish, done) = mpsc::channel();
    let (tell, told) = mpsc::channel();
    let namespace = thread::spawn(move || server_in_namespace(done, tell));
    let Ok((path, address)) = told.recv() else {
        panic!(
            "the namespace could not be made: run as root or set ROOKERY_SKIP_ROOT_TESTS: {:?}",
            namespace.join()
        );
    };
    assert!(
        TcpStream::connect(address).is_err(),
        "outside nobody listens there"
    );
    let mut config = config(address, 2, page_script());
    config.network = Some(path);
    let measurement = measure(&config);
    assert!(
        operation(&measurement.guests[0], "page").completed > 0,
        "{:?}",
        measurement.guests[0].errors
    );
    assert!(
        TcpStream::connect(address).is_err(),
        "this thread stayed outside"
    );
    drop(finish);
    namespace.join().expect("the server ends");
}
