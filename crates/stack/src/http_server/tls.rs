//! How a server encrypts: with a certificate of the user, or with one of its own.

use std::{fmt, net::IpAddr, path::PathBuf, sync::Arc};

use super::certificate::{PemPair, self_signed, self_signed_pem};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::ring::{self, Ticketer},
        pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, pem::PemObject as _},
    },
};

/// Why there is no certificate of its own.
const NO_KEY: &str = "no key can be made";

/// The certificate of a server.
#[derive(Clone, Debug)]
pub enum ServerCertificate {
    /// It makes one for its address (ECDSA on P-256, signed by itself) when it starts.
    Own,
    /// That of PEM files.
    Files {
        /// The certificate and those that lead to its root.
        certificate: PathBuf,
        /// Its private key.
        key: PathBuf,
    },
}

/// Why a server cannot encrypt, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoTls(String);

impl fmt::Display for NoTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoTls {}

fn why(error: impl fmt::Display) -> NoTls {
    NoTls(error.to_string())
}

impl ServerCertificate {
    /// What accepts encrypted connections at an address. Sessions of TLS 1.2 and 1.3 are resumed
    /// by tickets, so that the server keeps nothing of them.
    ///
    /// # Errors
    /// When the files cannot be read, or do not go together.
    pub(crate) fn acceptor(&self, address: IpAddr) -> Result<TlsAcceptor, NoTls> {
        let (chain, key) = match self {
            Self::Own => own(address)?,
            Self::Files { certificate, key } => {
                let chain = CertificateDer::pem_file_iter(certificate)
                    .and_then(Iterator::collect::<Result<Vec<_>, _>>)
                    .map_err(|error| NoTls(format!("{}: {error}", certificate.display())))?;
                let key = PrivateKeyDer::from_pem_file(key)
                    .map_err(|error| NoTls(format!("{}: {error}", key.display())))?;
                (chain, key)
            }
        };
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
            .map_err(why)?;
        config.ticketer = Ticketer::new().map_err(why)?;
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

/// A certificate for an address, and its key.
fn own(address: IpAddr) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), NoTls> {
    let (certificate, key) = self_signed(address).map_err(|_| NoTls(NO_KEY.to_owned()))?;
    let secret = PrivatePkcs8KeyDer::from(key);
    Ok((vec![CertificateDer::from(certificate)], secret.into()))
}

/// A certificate of a guest's own and its key, for a server that reads files.
///
/// # Errors
/// When no key can be made.
pub(crate) fn own_files() -> Result<PemPair, NoTls> {
    self_signed_pem().map_err(|_| NoTls(NO_KEY.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn a_server_makes_its_own_certificate_or_says_which_file_is_missing() {
        let address = IpAddr::from(Ipv4Addr::LOCALHOST);
        assert!(ServerCertificate::Own.acceptor(address).is_ok());
        let files = ServerCertificate::Files {
            certificate: "/no/certificate.pem".into(),
            key: "/no/key.pem".into(),
        };
        let why = files.acceptor(address).map(drop).expect_err("no file");
        assert!(
            why.to_string().starts_with("/no/certificate.pem: "),
            "{why}"
        );
    }
}
