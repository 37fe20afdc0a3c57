//! The certificate and the key with which a page is served encrypted.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    },
};

use crate::error::LiveError;

/// A certificate and its key, as files, and the name that it is for.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate and those that lead to its root, PEM.
    pub certificate: PathBuf,
    /// Its private key, PEM.
    pub key: PathBuf,
    /// The host name that browsers know the server by; without one the page answers under addresses
    /// alone.
    pub name: Option<String>,
}

impl TlsFiles {
    /// What accepts encrypted connections.
    ///
    /// # Errors
    /// When a file cannot be read, or the two do not go together.
    pub(crate) fn acceptor(&self) -> Result<TlsAcceptor, LiveError> {
        let refused = |path: &Path| {
            let path = path.to_owned();
            move |reason: String| LiveError::Tls { path, reason }
        };
        let chain = CertificateDer::pem_file_iter(&self.certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| error.to_string())
            .and_then(|chain| {
                if chain.is_empty() {
                    Err("there is no certificate in it".to_owned())
                } else {
                    Ok(chain)
                }
            })
            .map_err(refused(&self.certificate))?;
        let key = PrivateKeyDer::from_pem_file(&self.key)
            .map_err(|error| refused(&self.key)(error.to_string()))?;
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
            .map_err(|error| refused(&self.certificate)(error.to_string()))?;
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}
