//! How a session introduces itself to MariaDB or MySQL: capabilities, user, password.

use std::io;

use mysql_common::{
    constants::{CapabilityFlags, MariadbCapabilities},
    crypto,
    io::ParseBuf,
    packets::{
        AuthPlugin, AuthPluginData, AuthSwitchRequest, HandshakePacket, HandshakeResponse,
        SslRequest,
    },
    proto::MySerialize as _,
};
use rookery_diagnosis::outside_text;
use rookery_workload::orderentry::Dialect;

use super::packet;
use crate::{
    ClientError, Target, TlsError,
    fence::fenced_call,
    socket::{Incoming, Socket},
    target::Route,
    tls::Encryption,
};

/// What either side may send at once, bytes.
const LONGEST_PACKET: u32 = 16 * 1024 * 1024;

/// The character set of everything that is said: `utf8mb4_general_ci`.
const UTF8MB4: u8 = 45;

/// A connection whose server knows who we are.
pub(super) struct Greeted {
    pub(super) socket: Socket,
    pub(super) incoming: Incoming,
    pub(super) dialect: Dialect,
    /// Whether the server leaves out the descriptions of columns that have not changed.
    pub(super) keeps_columns: bool,
}

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Prepared statements of a terminal.
    Terminal,
    /// Statements as text, and rows in bulk where these ask for them.
    Control,
}

struct Handshake<'a> {
    socket: Socket,
    incoming: Incoming,
    target: &'a Target,
    nonce: Vec<u8>,
    /// Number of the next packet.
    number: u8,
}

/// Introduces the target's user on `socket`.
pub(super) async fn greet(
    socket: Socket,
    target: &Target,
    purpose: Purpose,
) -> Result<Greeted, ClientError> {
    let mut handshake = Handshake {
        socket,
        incoming: Incoming::default(),
        target,
        nonce: Vec::new(),
        number: 0,
    };
    let hello = handshake.read().await?;
    let hello: HandshakePacket<'_> = fenced_call(|| ParseBuf(&hello).parse(()))??;
    let offered = hello.capabilities();
    let is_mariadb = hello
        .server_version_ref()
        .windows(7)
        .any(|word| word == b"MariaDB");
    let needed = CapabilityFlags::CLIENT_PROTOCOL_41
        | CapabilityFlags::CLIENT_DEPRECATE_EOF
        | CapabilityFlags::CLIENT_PLUGIN_AUTH;
    if !offered.contains(needed) {
        return Err(ClientError::Unsupported {
            what: "the server is too old".to_owned(),
            help: "use MariaDB 10.2, MySQL 5.7 or a later one",
        });
    }
    // MariaDB keeps extensions of its own where the lowest bit is clear.
    let keeps_columns = purpose == Purpose::Terminal
        && is_mariadb
        && !offered.contains(CapabilityFlags::CLIENT_LONG_PASSWORD)
        && hello
            .mariadb_ext_capabilities()
            .contains(MariadbCapabilities::MARIADB_CLIENT_CACHE_METADATA);
    handshake.nonce = [
        hello.scramble_1_ref(),
        hello.scramble_2_ref().unwrap_or_default(),
    ]
    .concat();
    handshake.nonce.resize(20, 0);
    let plugin = match hello.auth_plugin() {
        Some(AuthPlugin::CachingSha2Password) => AuthPlugin::CachingSha2Password,
        _ => AuthPlugin::MysqlNativePassword,
    };
    let mut wanted = CapabilityFlags::CLIENT_PROTOCOL_41
        | CapabilityFlags::CLIENT_SECURE_CONNECTION
        | CapabilityFlags::CLIENT_PLUGIN_AUTH
        | CapabilityFlags::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA
        | CapabilityFlags::CLIENT_TRANSACTIONS
        | CapabilityFlags::CLIENT_MULTI_RESULTS
        | CapabilityFlags::CLIENT_PS_MULTI_RESULTS
        | CapabilityFlags::CLIENT_DEPRECATE_EOF
        // An UPDATE answers with the rows that it found, also when it writes what was there.
        | CapabilityFlags::CLIENT_FOUND_ROWS;
    if !is_mariadb {
        wanted |= CapabilityFlags::CLIENT_LONG_PASSWORD;
    }
    if purpose == Purpose::Control {
        wanted |= CapabilityFlags::CLIENT_LOCAL_FILES;
    }
    let mut agreed = (wanted & offered) | CapabilityFlags::CLIENT_CONNECT_WITH_DB;
    if target.encryption != Encryption::Off {
        if !offered.contains(CapabilityFlags::CLIENT_SSL) {
            return Err(TlsError::NotOffered.into());
        }
        agreed |= CapabilityFlags::CLIENT_SSL;
        handshake = handshake.encrypt(agreed).await?;
    }
    handshake.introduce(&plugin, agreed, keeps_columns).await?;
    handshake.prove(plugin).await?;
    Ok(Greeted {
        socket: handshake.socket,
        incoming: handshake.incoming,
        dialect: if is_mariadb {
            Dialect::Mariadb
        } else {
            Dialect::Mysql
        },
        keeps_columns,
    })
}

impl Handshake<'_> {
    async fn read(&mut self) -> Result<Vec<u8>, ClientError> {
        let (packet, number) = packet::read(&mut self.socket, &mut self.incoming).await?;
        self.number = number.wrapping_add(1);
        let packet = self.incoming.taken(packet);
        match packet.first() {
            None => Err(packet::cut()),
            Some(0xff) => Err(packet::error(packet)),
            Some(_) => Ok(packet.to_vec()),
        }
    }

    async fn write(&mut self, content: &[u8]) -> Result<(), ClientError> {
        let mut out = Vec::new();
        packet::write(&mut out, self.number, |out| out.extend_from_slice(content));
        Ok(self.socket.send(&out).await?)
    }

    /// Goes on over an encrypted connection.
    async fn encrypt(mut self, agreed: CapabilityFlags) -> Result<Self, ClientError> {
        let mut content = Vec::new();
        SslRequest::new(agreed, LONGEST_PACKET, UTF8MB4).serialize(&mut content);
        self.write(&content).await?;
        self.number = self.number.wrapping_add(1);
        // What came before the encryption is nobody's word.
        if !self.incoming.waiting().is_empty() {
            return Err(TlsError::Injected.into());
        }
        self.socket = self.socket.encrypted(self.target).await?;
        Ok(self)
    }

    async fn introduce(
        &mut self,
        plugin: &AuthPlugin<'_>,
        agreed: CapabilityFlags,
        keeps_columns: bool,
    ) -> Result<(), ClientError> {
        let extensions = if keeps_columns {
            MariadbCapabilities::MARIADB_CLIENT_CACHE_METADATA
        } else {
            MariadbCapabilities::empty()
        };
        let proof = plugin.gen_data(self.target.password.as_deref(), &self.nonce);
        let response = HandshakeResponse::new(
            proof.as_deref(),
            (5, 7, 0),
            Some(self.target.user.as_bytes()),
            Some(self.target.database.as_bytes()),
            Some(plugin.borrow()),
            agreed,
            None,
            LONGEST_PACKET,
        )
        .with_mariadb_ext_capabilities(extensions);
        let mut content = Vec::new();
        response.serialize(&mut content);
        self.write(&content).await
    }

    /// Answers what the server asks until it agrees. It may ask for another proof once.
    async fn prove(&mut self, mut plugin: AuthPlugin<'static>) -> Result<(), ClientError> {
        // A change of the proof, a key, an encrypted password and the agreement are four.
        for _ in 0..6 {
            let packet = self.read().await?;
            match packet[..] {
                [0x00, ..] => return Ok(()),
                [0xfe, _, ..] => {
                    let asked: AuthSwitchRequest<'_> =
                        fenced_call(|| ParseBuf(&packet).parse(()))??;
                    plugin = asked.auth_plugin().clone().into_owned();
                    self.nonce = asked.plugin_data().to_vec();
                    let proof = self.proof(&plugin)?;
                    self.write(&proof).await?;
                }
                // The server knows the password from before.
                [0x01, 0x03] if plugin == AuthPlugin::CachingSha2Password => {}
                [0x01, 0x04] if plugin == AuthPlugin::CachingSha2Password => {
                    self.tell_password().await?
                }
                _ => break,
            }
        }
        Err(ClientError::Session(format!(
            "the server asks for a proof that is not understood ({})",
            outside_text(&String::from_utf8_lossy(plugin.as_bytes()))
        )))
    }

    fn proof(&self, plugin: &AuthPlugin<'_>) -> Result<Vec<u8>, ClientError> {
        let password = self.target.password.as_deref();
        match plugin {
            AuthPlugin::MysqlNativePassword | AuthPlugin::CachingSha2Password => {
                let proof: Option<AuthPluginData<'_>> = plugin.gen_data(password, &self.nonce);
                Ok(proof.as_deref().unwrap_or_default().to_vec())
            }
            // The socket itself says who we are.
            AuthPlugin::Other(name) if matches!(&name[..], b"unix_socket" | b"auth_socket") => {
                Ok(Vec::new())
            }
            other => Err(ClientError::Unsupported {
                what: format!(
                    "the user is known by `{}`, which this client does not speak",
                    outside_text(&String::from_utf8_lossy(other.as_bytes()))
                ),
                help: "give the user a password by mysql_native_password or caching_sha2_password",
            }),
        }
    }

    /// MySQL does not know the password yet: it gets the password itself, over TCP encrypted with
    /// its own key.
    async fn tell_password(&mut self) -> Result<(), ClientError> {
        let mut password = self
            .target
            .password
            .clone()
            .unwrap_or_default()
            .into_bytes();
        password.push(0);
        // Nobody listens to a socket of this machine, nor to an encrypted connection.
        let is_open =
            matches!(self.target.route, Route::Tcp(_)) && !matches!(self.socket, Socket::Tls(_));
        if !is_open {
            return self.write(&password).await;
        }
        self.write(&[2]).await?;
        let key = self.read().await?;
        let key = key.strip_prefix(b"\x01").unwrap_or(&key);
        if !key.starts_with(b"-----BEGIN PUBLIC KEY-----") {
            return Err(ClientError::Io(io::Error::new(
                io::ErrorKind::InvalidData,
                "the server sent no key for the password; connect over its socket, or give the \
                 user mysql_native_password",
            )));
        }
        for (byte, mask) in password.iter_mut().zip(self.nonce.iter().cycle()) {
            *byte ^= mask;
        }
        let encrypted = encrypt(&password, key)?;
        self.write(&encrypted).await
    }
}

/// The password under the server's key. A key that is none, or one that is too short for the
/// password, is an error.
fn encrypt(password: &[u8], key: &[u8]) -> Result<Vec<u8>, ClientError> {
    // The library takes for granted that servers send good keys, and panics over others.
    fenced_call(|| crypto::encrypt(password, key)).map_err(|_| ClientError::Unsupported {
        what: "the server's key for the password cannot be used".to_owned(),
        help: "connect over its socket, or give the user mysql_native_password",
    })
}

#[cfg(test)]
#[path = "handshake_tests.rs"]
mod tests;
