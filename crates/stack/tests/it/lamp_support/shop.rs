//! The pages on PHP's own web server: the pages' logic alone, without Apache.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    ops::ControlFlow,
    process::{Command, Stdio},
    sync::atomic::{AtomicU8, Ordering::Relaxed},
    thread::sleep,
    time::{Duration, Instant},
};

use rookery_stack::lamp::{load, pages, sql::Database};
use rookery_workload::dvdstore::{LineItem, PageSite, Size, WordLists};

use super::{MariaDb, PATIENCE, Process};

/// The size of every test's shop: 2 000 customers, 1 200 orders, 1 000 products.
pub(crate) const SIZE: Size = Size::Mb(1);

/// The pages as the original driver asks for them.
pub(crate) const SITE: PageSite<'_> = PageSite {
    directory: "ds2",
    page_type: "php",
};

/// A shop with its database.
pub(crate) struct Shop {
    pub(crate) server: MariaDb,
    _php: Process,
    pub(crate) address: SocketAddr,
}

/// What a page answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl Shop {
    /// Load a database and serve the pages with `workers` PHP processes.
    pub(crate) fn start(faithful: bool, workers: u32) -> Self {
        let server = MariaDb::start(&["--innodb-lock-wait-timeout=20"]);
        load(&mut server.root(), SIZE, WordLists::own(), 2, &|_| {
            ControlFlow::Continue(())
        })
        .expect("a loaded database");
        let root = server.dir.path().join("htdocs");
        for (path, text) in pages::FILES {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("below the root")).expect("a directory");
            fs::write(path, text).expect("a page");
        }
        let socket = server.socket().display().to_string();
        let settings = pages::Settings {
            socket: Some(&socket),
            faithful,
            persistent: false,
        };
        fs::write(root.join(pages::SETTINGS_FILE), settings.php()).expect("the settings");
        let address = free_address();
        let log = fs::File::create(server.dir.path().join("access.log")).expect("a log");
        let php = Command::new("php")
            .args([
                "-d",
                "display_errors=0",
                "-d",
                "log_errors=1",
                "-d",
                "error_reporting=-1",
                "-d",
            ])
            .arg(format!(
                "error_log={}",
                server.dir.path().join("php.log").display()
            ))
            .arg("-S")
            .arg(address.to_string())
            .arg("-t")
            .arg(&root)
            .env("PHP_CLI_SERVER_WORKERS", workers.to_string())
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a second handle"))
            .stderr(log)
            .spawn()
            .expect("php; install php-cli and php-mysql, or set ROOKERY_SKIP_LAMP_TESTS=1");
        let mut shop = Self {
            server,
            _php: Process(php),
            address,
        };
        shop.wait();
        shop
    }

    fn wait(&mut self) {
        let start = Instant::now();
        while TcpStream::connect(self.address).is_err() {
            assert!(start.elapsed() < PATIENCE, "PHP does not listen");
            sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn root(&self) -> Database {
        self.server.root()
    }

    /// GET `target`, such as `/ds2/index.html`.
    pub(crate) fn get(&self, target: &str) -> Answer {
        exchange(
            self.address,
            format!("GET {target} HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n\r\n").as_bytes(),
        )
    }

    /// POST a form to `target`.
    pub(crate) fn post(&self, target: &str, form: &str) -> Answer {
        let head = format!(
            "POST {target} HTTP/1.1\r\nHost: shop\r\nConnection: close\r\nContent-Type: \
             application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n",
            form.len()
        );
        exchange(
            self.address,
            [head.as_bytes(), form.as_bytes()].concat().as_slice(),
        )
    }

    /// The body of a page that must be answered with 200.
    pub(crate) fn page(&self, target: &str) -> String {
        let answer = self.get(target);
        assert_eq!(answer.status, 200, "{target}\n{}", answer.body);
        answer.body
    }

    /// A page without the frame that all pages share.
    pub(crate) fn inner(&self, target: &str) -> String {
        let page = self.page(target);
        let (_, inner) = page
            .split_once("DVD Store</H1>\n")
            .expect("the frame's beginning");
        inner
            .rsplit_once("<HR>")
            .expect("the frame's end")
            .0
            .to_owned()
    }

    /// Fail when PHP has complained of anything.
    pub(crate) fn expect_no_complaint(&self) {
        let log = fs::read_to_string(self.server.dir.path().join("php.log")).unwrap_or_default();
        assert!(log.is_empty(), "PHP complained:\n{log}");
    }
}

/// Target of a page whose request `write` writes.
pub(crate) fn target(write: impl Fn(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8(out).expect("targets are ASCII")
}

/// Target of a confirmed purchase of `quantity` units of each product.
pub(crate) fn purchase(customer: u64, products: &[u64], quantity: u32) -> String {
    let items: Vec<LineItem> = products
        .iter()
        .map(|&product| LineItem { product, quantity })
        .collect();
    target(|out| SITE.purchase(out, customer, &items))
}

/// Ports are of the whole machine; addresses of the loopback network are many.
fn free_address() -> SocketAddr {
    static NEXT: AtomicU8 = AtomicU8::new(1);
    let ip = [
        127,
        77,
        (std::process::id() % 250) as u8,
        NEXT.fetch_add(1, Relaxed),
    ];
    TcpListener::bind(SocketAddr::from((ip, 0)))
        .and_then(|listener| listener.local_addr())
        .expect("a free port")
}

fn exchange(address: SocketAddr, request: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
    // A server that refuses a long request may close before it has read all of it.
    let _ = stream.write_all(request);
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(
            reader.read_line(&mut head).expect("a head") > 0,
            "the connection was closed: {head}"
        );
    }
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .expect("a status");
    let mut body = Vec::new();
    reader.read_to_end(&mut body).expect("a body");
    Answer {
        status,
        body: String::from_utf8(body).expect("pages are UTF-8"),
    }
}
