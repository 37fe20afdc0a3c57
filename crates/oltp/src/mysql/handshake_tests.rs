//! How the client proves who it is, against a scripted server and the proofs that the protocol's
//! formulas give.

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::UnixStream,
};

use super::*;

/// The number that the server says once.
const NONCE: &[u8; 20] = b"rookery-rookery-rook";

/// SHA256(password) XOR SHA256(SHA256(SHA256(password)) nonce), for the password `secret`.
const SHA2_PROOF: [u8; 32] = [
    0x21, 0xc0, 0xdb, 0xe0, 0x2f, 0x99, 0x32, 0xd2, 0x64, 0xc2, 0x79, 0x3e, 0xf7, 0x0a, 0xd3, 0x29,
    0xdf, 0x0b, 0x93, 0xe4, 0xa0, 0xd8, 0xc3, 0x3c, 0x6b, 0x77, 0x0f, 0xb7, 0x7c, 0xd9, 0x9a, 0xca,
];

/// SHA1(password) XOR SHA1(nonce SHA1(SHA1(password))), for the same.
const NATIVE_PROOF: [u8; 20] = [
    0x00, 0xc2, 0xf3, 0x47, 0xdf, 0x49, 0x16, 0x14, 0xe4, 0xfa, 0xbe, 0x3b, 0x71, 0x73, 0x9a, 0x65,
    0xe5, 0x58, 0x1c, 0xc0,
];

/// A public key of 2048 bits, made for this test.
const KEY: &[u8] = b"\x01-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAlehSjf0dOj4zWb5B3nwC
BBZwN9j6X8tl4sGluDW5DXsGtJ8ZeUPjuQvxvRFQtZnZsQPnN188/sbiDG8s4Hfb
8k9HrYcFYNFoSHbltJ3SFB6YjwIr48zxwcrhRvFryZB016B5nvnVhKtmxaMyM9f2
I+7ifj9QFr3QqhyGfrSq/XcR5H9h8d+0iD5JuWMFnZQTGPuwig7HjsxL5nf0noXw
ZDELl5VI8VaZxsYdFuEE/YlBlmcMBQ/f0naYhkTo0RlP8KTkOEJHO10nvw2y5Frp
78+NUn2OcuFn605ZEV/5k1HeWVSM5d61s8z/b9f0rf+y+Eq96obTmNLXc0vtcZbH
VwIDAQAB
-----END PUBLIC KEY-----
";

const OVER_SOCKET: &str = "mysql://oe:secret@/shop?socket=/nowhere/my.sock";
const OVER_TCP: &str = "mysql://oe:secret@127.0.0.1/shop";
const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
const KNOWN: &[u8] = &[0x01, 0x03];
const TELL: &[u8] = &[0x01, 0x04];

/// A server of version 8 whose users are known by `plugin`.
fn hello(plugin: &str) -> Vec<u8> {
    let capabilities: u32 = 0x0100_0000 | 0x0020_0000 | 0x0008_0000 | 0x8000 | 0x0200 | 0x000f;
    let [low, low2, high, high2] = capabilities.to_le_bytes();
    let mut packet = b"\x0a8.0.36\0".to_vec();
    packet.extend_from_slice(&[7, 0, 0, 0]);
    packet.extend_from_slice(&NONCE[..8]);
    packet.extend_from_slice(&[0, low, low2, 45, 2, 0, high, high2, 21]);
    packet.extend_from_slice(&[0; 10]);
    packet.extend_from_slice(&NONCE[8..]);
    packet.push(0);
    packet.extend_from_slice(plugin.as_bytes());
    packet.push(0);
    packet
}

/// Asks for another proof, with the same number.
fn switch(plugin: &str) -> Vec<u8> {
    [b"\xfe", plugin.as_bytes(), b"\0", NONCE.as_slice(), b"\0"].concat()
}

/// Says one packet after another, each but the last answered by the client unless it is [`KNOWN`],
/// and gives the client's answers and its end.
fn play(target: &str, script: &[&[u8]]) -> (Vec<Vec<u8>>, Result<(), ClientError>) {
    let target: Target = target.parse().expect("a target");
    crate::runtime().expect("a runtime").block_on(async {
        let (near, mut far) = UnixStream::pair().expect("a pair");
        let server = async {
            let (mut heard, mut number) = (Vec::new(), 0);
            for (index, packet) in script.iter().enumerate() {
                let mut out = Vec::new();
                super::packet::write(&mut out, number, |out| out.extend_from_slice(packet));
                far.write_all(&out).await.expect("written");
                number += 1;
                if index + 1 == script.len() || *packet == KNOWN {
                    continue;
                }
                let mut head = [0; 4];
                // A client that has given up says nothing more.
                if far.read_exact(&mut head).await.is_err() {
                    break;
                }
                assert_eq!(head[3], number, "packets are counted on");
                number += 1;
                let mut said = vec![0; usize::from(head[0]) | usize::from(head[1]) << 8];
                far.read_exact(&mut said).await.expect("a whole packet");
                heard.push(said);
            }
            heard
        };
        let (heard, greeted) = tokio::join!(
            server,
            greet(Socket::Unix(near), &target, Purpose::Terminal)
        );
        (heard, greeted.map(drop))
    })
}

fn contains(packet: &[u8], part: &[u8]) -> bool {
    packet.windows(part.len()).any(|window| window == part)
}

#[test]
fn a_password_that_mysql_knows_is_proved_by_its_hash() {
    let (heard, greeted) = play(OVER_TCP, &[&hello("caching_sha2_password"), KNOWN, OK]);
    greeted.expect("let in");
    assert!(
        contains(&heard[0], &[&[32], &SHA2_PROOF[..]].concat()),
        "{heard:?}"
    );
    assert!(
        contains(&heard[0], b"oe\0")
            && contains(&heard[0], b"shop\0")
            && contains(&heard[0], b"caching_sha2_password\0")
    );
    assert!(!contains(&heard[0], b"secret"));
}

#[test]
fn a_password_that_mysql_does_not_know_is_told_over_a_socket_alone() {
    let (heard, greeted) = play(OVER_SOCKET, &[&hello("caching_sha2_password"), TELL, OK]);
    greeted.expect("let in");
    assert_eq!(heard[1], b"secret\0");

    let (heard, greeted) = play(OVER_TCP, &[&hello("caching_sha2_password"), TELL, KEY, OK]);
    greeted.expect("let in");
    assert_eq!(
        heard[1],
        [2],
        "over TCP the server's key is asked for first"
    );
    assert_eq!(heard[2].len(), 256, "one block of the key");
    assert!(heard.iter().all(|packet| !contains(packet, b"secret")));
}

#[test]
fn a_key_that_is_none_ends_in_an_error() {
    for key in [
        &b"\x01no key"[..],
        b"\x01-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
    ] {
        let (_, refused) = play(OVER_TCP, &[&hello("caching_sha2_password"), TELL, key, OK]);
        let said = refused.expect_err("no key").to_string();
        assert!(said.contains("key for the password"), "{said}");
    }
}

#[test]
fn the_proof_is_changed_when_the_server_asks() {
    let (heard, greeted) = play(
        OVER_TCP,
        &[
            &hello("caching_sha2_password"),
            &switch("mysql_native_password"),
            OK,
        ],
    );
    greeted.expect("let in");
    assert_eq!(heard[1], NATIVE_PROOF);
    let (heard, greeted) = play(
        OVER_TCP,
        &[
            &hello("mysql_native_password"),
            &switch("caching_sha2_password"),
            KNOWN,
            OK,
        ],
    );
    greeted.expect("let in");
    assert!(contains(&heard[0], &NATIVE_PROOF));
    assert_eq!(heard[1], SHA2_PROOF);
}

#[test]
fn a_proof_that_is_not_spoken_is_named_with_help() {
    let (_, refused) = play(
        OVER_TCP,
        &[
            &hello("caching_sha2_password"),
            &switch("sha256_password"),
            OK,
        ],
    );
    let refused = refused.expect_err("not spoken");
    let said = refused.to_string();
    assert!(
        said.contains("`sha256_password`") && refused.help().is_some(),
        "{said}"
    );
    let (_, refused) = play(
        OVER_TCP,
        &[
            &hello("caching_sha2_password"),
            b"\xff\x15\x04#28000Access denied",
        ],
    );
    assert_eq!(refused.expect_err("refused").code(), Some(("28000", 1045)));
}
