//! The server under load: one nginx process with two fixed pages.

use std::{
    fs,
    net::{SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::Duration,
};

/// A running nginx with its directory; both vanish with it.
pub(in crate::bench) struct Nginx {
    child: Child,
    directory: PathBuf,
    pub(in crate::bench) address: SocketAddr,
    tls: Option<SocketAddr>,
}

impl Nginx {
    /// Start one on the server CPU and wait until it answers.
    pub(super) fn start() -> Result<Self, String> {
        Self::with(&[("1k", page(1_000)), ("30k", page(30_000))], false)
    }

    /// The same with pages of one's own, over TLS too.
    pub(in crate::bench) fn with_tls(pages: &[(&str, Vec<u8>)]) -> Result<Self, String> {
        Self::with(pages, true)
    }

    /// Where it speaks TLS.
    pub(in crate::bench) fn tls_address(&self) -> Result<SocketAddr, String> {
        self.tls
            .ok_or_else(|| "this nginx speaks no TLS".to_owned())
    }

    fn with(pages: &[(&str, Vec<u8>)], tls: bool) -> Result<Self, String> {
        let directory = std::env::temp_dir().join(format!("rookery-bench-{}", std::process::id()));
        let io = |error: std::io::Error| format!("cannot prepare {}: {error}", directory.display());
        fs::create_dir_all(directory.join("pages")).map_err(io)?;
        for (name, page) in pages {
            fs::write(directory.join("pages").join(name), page).map_err(io)?;
        }
        let address = free_address().map_err(io)?;
        let tls = if tls {
            certificate(&directory)?;
            Some(free_address().map_err(io)?)
        } else {
            None
        };
        fs::write(directory.join("nginx.conf"), configuration(address, tls)).map_err(io)?;
        let child = Command::new("taskset")
            .args([
                "-c",
                &super::SERVER_CPU.to_string(),
                "nginx",
                "-e",
                "error.log",
                "-c",
                "nginx.conf",
                "-p",
            ])
            .arg(&directory)
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| {
                format!(
                    "cannot start nginx ({error}); install the packages nginx-light and util-linux"
                )
            })?;
        let mut nginx = Self {
            child,
            directory,
            address,
            tls,
        };
        nginx.wait()?;
        Ok(nginx)
    }

    fn wait(&mut self) -> Result<(), String> {
        for _ in 0..100 {
            if TcpStream::connect(self.address).is_ok() {
                return Ok(());
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                let log = fs::read_to_string(self.directory.join("error.log")).unwrap_or_default();
                return Err(format!("nginx ended with {status}: {log}"));
            }
            sleep(Duration::from_millis(50));
        }
        Err("nginx did not answer within 5 s".to_owned())
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // It may have ended by itself; there is nobody left to tell.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

fn page(bytes: usize) -> Vec<u8> {
    b"All work and no play makes a dull page. "
        .iter()
        .copied()
        .cycle()
        .take(bytes)
        .collect()
}

fn free_address() -> std::io::Result<SocketAddr> {
    TcpListener::bind("127.0.0.1:0")?.local_addr()
}

/// A certificate of its own for a day.
fn certificate(directory: &Path) -> Result<(), String> {
    let output = Command::new("openssl")
        .args([
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1",
        ])
        .args([
            "-subj",
            "/CN=localhost",
            "-keyout",
            "key.pem",
            "-out",
            "cert.pem",
        ])
        .current_dir(directory)
        .output()
        .map_err(|error| format!("cannot start openssl ({error}); install the package openssl"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!(
        "openssl made no certificate: {}",
        String::from_utf8_lossy(&output.stderr)
    ))
}

/// One process, so that ending it ends all; connections stay open for as long as the clients want.
fn configuration(address: SocketAddr, tls: Option<SocketAddr>) -> String {
    let tls = tls.map_or_else(String::new, |address| {
        format!(
            "server {{ listen {address} ssl backlog=4096; root pages; default_type text/html; \
             ssl_certificate cert.pem; ssl_certificate_key key.pem; }}"
        )
    });
    format!(
        "daemon off;
master_process off;
pid nginx.pid;
worker_rlimit_nofile 20000;
events {{ worker_connections 19000; multi_accept on; use epoll; }}
http {{
    access_log off;
    sendfile on;
    tcp_nopush on;
    open_file_cache max=100;
    keepalive_timeout 3600s;
    keepalive_requests 1000000000;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    server {{
        listen {address} backlog=4096; root pages; default_type text/html;
        location = /object {{ add_header Set-Cookie 'session=5f3a9c0112345678; Path=/'; }}
    }}
    {tls}
}}
"
    )
}
