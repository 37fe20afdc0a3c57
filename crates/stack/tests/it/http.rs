//! The server's manners: keep-alive, forms, limits, refusals, the end.

use rookery_stack::embedded::Pages;

use crate::common::{Client, Running, config, database};

fn post(path: &str, form: &str) -> Vec<u8> {
    format!(
        "POST {path} HTTP/1.1\r\nHost: shop\r\nContent-Length: {}\r\n\r\n{form}",
        form.len()
    )
    .into_bytes()
}

#[test]
fn one_connection_serves_many_requests() {
    let (_dir, database) = database();
    let server = Running::start(database, Pages::Corrected);
    let mut client = Client::connect(server.address).expect("a connection");
    for _ in 0..3 {
        assert_eq!(client.get("/ds2/index.html").expect("an answer").0, 200);
        assert!(
            client
                .get("/ds2/dslogin.php?username=user28&password=password")
                .expect("an answer")
                .1
                .contains("VALUE=28>")
        );
    }
    client
        .send(&post(
            "/ds2/dslogin.php",
            "username=user28&password=password",
        ))
        .expect("sent");
    assert!(client.read().expect("an answer").2.contains("VALUE=28>"));
    let chunked = b"POST /ds2/dslogin.php HTTP/1.1\r\nHost: shop\r\nTransfer-Encoding: \
                    chunked\r\n\r\nf\r\nusername=user28\r\n12\r\n&password=password\r\n0\r\n\r\n";
    client.send(chunked).expect("sent");
    assert!(client.read().expect("an answer").2.contains("VALUE=28>"));
    let pipelined =
        b"GET /health HTTP/1.1\r\nHost: shop\r\n\r\nGET /none HTTP/1.1\r\nHost: shop\r\n\r\n";
    client.send(pipelined).expect("sent");
    assert_eq!(
        [
            client.read().expect("an answer").0,
            client.read().expect("an answer").0
        ],
        [200, 404]
    );
    server.stop();
    assert!(client.is_closed());
}

#[test]
fn what_is_too_much_or_no_request_is_refused() {
    let (_dir, database) = database();
    let server = Running::start(database, Pages::Corrected);
    let refused = |request: &[u8]| {
        let mut client = Client::connect(server.address).expect("a connection");
        client.send(request).expect("sent");
        let (status, head, _) = client.read().expect("an answer");
        (status, head, client)
    };
    let (status, head, mut client) =
        refused(b"DELETE /ds2/dslogin.php HTTP/1.1\r\nHost: shop\r\n\r\n");
    assert_eq!(status, 405);
    assert!(head.contains("\r\nallow: get, post\r\n"), "{head}");
    assert_eq!(client.get("/health").expect("the connection lives").0, 200);

    let (status, _, mut client) =
        refused(b"POST /ds2/dslogin.php HTTP/1.1\r\nHost: shop\r\nContent-Length: 65537\r\n\r\n");
    assert_eq!(status, 413);
    assert!(client.is_closed());
    let fields = format!(
        "GET /ds2/dslogin.php?{} HTTP/1.1\r\nHost: shop\r\n\r\n",
        "a&".repeat(1_001)
    );
    assert_eq!(refused(fields.as_bytes()).0, 400);
    let headers = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(65));
    assert_eq!(refused(headers.as_bytes()).0, 431);
    assert_eq!(refused(b"\x16\x03\x01 this is no HTTP\r\n\r\n").0, 400);
    server.stop();
}

#[test]
fn a_server_needs_a_database_and_an_address() {
    use rookery_stack::{
        ServerError,
        embedded::{EmbeddedError, Server},
    };
    let (dir, database) = database();
    let missing = config(dir.path().join("none"), Pages::Corrected);
    assert!(matches!(
        Server::bind(&missing).err(),
        Some(EmbeddedError::Missing(_))
    ));
    let server = Running::start(database.clone(), Pages::Corrected);
    let mut taken = config(database, Pages::Corrected);
    taken.listen = server.address;
    assert!(matches!(
        Server::bind(&taken).err(),
        Some(EmbeddedError::Server(ServerError::Listen { .. }))
    ));
    server.stop();
}
