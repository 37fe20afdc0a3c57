//! Encrypted connections of users: one session of TLS for each session of a user.

use std::sync::Arc;

use rookery_driver::{AnyCertificate, Fault, signed_by};
use rookery_stats::ErrorClass;
use rookery_workload::http::{Tls, TlsVersion};
use tokio_rustls::rustls::{
    ClientConfig, Error, SupportedProtocolVersion,
    client::{Resumption, danger::ServerCertVerifier},
    crypto::ring,
    pki_types::ServerName,
    version::{TLS12, TLS13},
};

/// Sessions that a user keeps for resuming: one for each of its connections is enough.
const KEPT_SESSIONS: usize = 4;

/// How the users of a site encrypt.
#[derive(Clone, Debug)]
pub(crate) struct TlsClient {
    config: ClientConfig,
    name: ServerName<'static>,
}

/// How one user encrypts, for as long as its session lasts.
#[derive(Clone, Debug)]
pub(crate) struct TlsUser {
    pub(crate) config: Arc<ClientConfig>,
    pub(crate) name: ServerName<'static>,
}

impl TlsClient {
    /// For a server of this name or address.
    pub(crate) fn new(tls: &Tls, host: &str) -> Result<Self, String> {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| format!("`{host}` is no name of a server"))?;
        let provider = Arc::new(ring::default_provider());
        let verifier: Arc<dyn ServerCertVerifier> = match &tls.ca {
            _ if tls.insecure => Arc::new(AnyCertificate::new(&provider)),
            Some(pem) => {
                signed_by(&provider, pem.as_bytes()).map_err(|why| format!("`ca`: {why}"))?
            }
            None => {
                return Err(
                    "nothing says which certificate the server must have: give `ca`, or \
                     `insecure = true`"
                        .to_owned(),
                );
            }
        };
        static BOTH: [&SupportedProtocolVersion; 2] = [&TLS13, &TLS12];
        let versions = match tls.version {
            None => &BOTH[..],
            Some(TlsVersion::V13) => &BOTH[..1],
            Some(TlsVersion::V12) => &BOTH[1..],
        };
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .map_err(|error| error.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        Ok(Self { config, name })
    }

    /// A user that has met the server never before.
    pub(crate) fn user(&self) -> TlsUser {
        let mut config = self.config.clone();
        config.resumption = Resumption::in_memory_sessions(KEPT_SESSIONS);
        TlsUser {
            config: Arc::new(config),
            name: self.name.clone(),
        }
    }
}

/// The fault of a failed handshake.
pub(crate) fn handshake_fault(error: &std::io::Error) -> Fault {
    let cause = error
        .get_ref()
        .and_then(|cause| cause.downcast_ref::<Error>());
    match cause {
        Some(Error::InvalidCertificate(_)) => Fault::new(ErrorClass::Tls, "certificate"),
        _ => Fault::new(ErrorClass::Tls, "handshake"),
    }
}
