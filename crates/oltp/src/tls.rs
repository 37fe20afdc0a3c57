//! Encrypted connections: what a target asks for, and how a stream becomes one.

use std::{fs, io, net::IpAddr, path::PathBuf, sync::Arc};

use rookery_driver::{AnyCertificate, signed_by};
use thiserror::Error;
use tokio::net::TcpStream;
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{
        CertificateError, ClientConfig, DigitallySignedStruct, Error, SignatureScheme,
        client::{
            WebPkiServerVerifier,
            danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        },
        crypto::{CryptoProvider, ring},
        pki_types::{CertificateDer, ServerName, UnixTime},
    },
};

/// Whether a connection is encrypted, and what the server's certificate must prove.
///
/// There is nothing like "if the server offers it": what is measured, and who may listen, must not
/// depend on the server's word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Encryption {
    /// It is not.
    #[default]
    Off,
    /// It is, with whoever answers.
    Unverified,
    /// The certificate is signed by one of these.
    Signed {
        /// A file of certificates as PEM.
        roots: PathBuf,
    },
    /// It is, and it names the server.
    Named {
        /// A file of certificates as PEM.
        roots: PathBuf,
        /// The name that it must hold; nothing for the address of the target.
        name: Option<String>,
    },
}

/// Why there is no encrypted connection.
#[derive(Debug, Error)]
pub enum TlsError {
    /// The server does not encrypt.
    #[error("the server offers no TLS, and the target asks for it")]
    NotOffered,
    /// It said something before the encrypted connection that was not asked for.
    #[error("the server sent unencrypted bytes behind its word on TLS")]
    Injected,
    /// The certificates cannot be read.
    #[error("cannot read the certificates in {path}: {why}", path = path.display())]
    Roots {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The name is none.
    #[error("`{0}` is no name of a server")]
    Name(String),
    /// No agreement on ciphers, or a certificate that does not prove what it must.
    #[error("no encrypted connection: {0}")]
    Agreement(#[source] Error),
}

impl TlsError {
    /// What the user can do.
    pub(crate) fn help(&self) -> &'static str {
        match self {
            Self::NotOffered => {
                "give the server a certificate and a key, or ask for no TLS (sslmode=disable, \
                 ssl-mode=DISABLED)"
            }
            Self::Injected => "somebody may sit between this machine and the server",
            Self::Roots { .. } => {
                "name a PEM file with the certificate that signed the server's own"
            }
            Self::Name(_) => "write a DNS name or an address",
            Self::Agreement(_) => {
                "see the server's certificate: who signed it, until when it is valid, and which \
                 names and addresses it holds; tls-name=NAME says another name than the address"
            }
        }
    }
}

/// Encrypts `stream`, which leads to `address`.
///
/// # Errors
/// An error of the stream itself is the outer one.
pub(crate) async fn encrypt(
    stream: TcpStream,
    encryption: &Encryption,
    address: IpAddr,
) -> io::Result<Result<TlsStream<TcpStream>, TlsError>> {
    let (config, name) = match (config(encryption), server_name(encryption, address)) {
        (Ok(config), Ok(name)) => (config, name),
        (Err(why), _) | (_, Err(why)) => return Ok(Err(why)),
    };
    let connector = TlsConnector::from(Arc::new(config));
    match connector.connect(name, stream).await {
        Ok(stream) => Ok(Ok(stream)),
        Err(error) => match error.downcast::<Error>() {
            Ok(why) => Ok(Err(TlsError::Agreement(why))),
            Err(error) => Err(error),
        },
    }
}

fn server_name(encryption: &Encryption, address: IpAddr) -> Result<ServerName<'static>, TlsError> {
    match encryption {
        Encryption::Named {
            name: Some(name), ..
        } => ServerName::try_from(name.clone()).map_err(|_| TlsError::Name(name.clone())),
        _ => Ok(ServerName::from(address.to_canonical())),
    }
}

fn config(encryption: &Encryption) -> Result<ClientConfig, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let verifier: Arc<dyn ServerCertVerifier> = match encryption {
        Encryption::Off | Encryption::Unverified => Arc::new(AnyCertificate::new(&provider)),
        Encryption::Signed { roots } => Arc::new(Signed(verifier(&provider, roots)?)),
        Encryption::Named { roots, .. } => verifier(&provider, roots)?,
    };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Agreement)?;
    Ok(builder
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth())
}

fn verifier(
    provider: &Arc<CryptoProvider>,
    path: &PathBuf,
) -> Result<Arc<WebPkiServerVerifier>, TlsError> {
    let unreadable = |why: String| TlsError::Roots {
        path: path.clone(),
        why,
    };
    let pem = fs::read(path).map_err(|error| unreadable(error.to_string()))?;
    signed_by(provider, &pem).map_err(|error| unreadable(error.to_string()))
}

/// Takes any name in a certificate that is signed as it must be.
#[derive(Debug)]
struct Signed(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for Signed {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        // The signatures are looked at before the name.
        match self
            .0
            .verify_server_cert(certificate, others, name, ocsp, now)
        {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
