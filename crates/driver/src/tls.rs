//! What the certificate of a server must prove, for encrypted connections of every protocol.

use std::sync::Arc;

use tokio_rustls::rustls::{
    DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{
        VerifierBuilderError, WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime, pem, pem::PemObject as _},
};

/// What is wrong with certificates that sign those of servers.
#[derive(Debug, thiserror::Error)]
pub enum RootsError {
    /// The text is no PEM.
    #[error("{0}")]
    Pem(pem::Error),
    /// One of them cannot sign.
    #[error("{0}")]
    Certificate(#[from] Error),
    /// Nothing can be verified by them.
    #[error("{0}")]
    Verifier(#[from] VerifierBuilderError),
}

/// The certificate is signed by one of those in `pem`, and names the server.
///
/// # Errors
/// When they cannot be read, or there are none.
pub fn signed_by(
    provider: &Arc<CryptoProvider>,
    pem: &[u8],
) -> Result<Arc<WebPkiServerVerifier>, RootsError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        roots.add(certificate.map_err(RootsError::Pem)?)?;
    }
    let builder =
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
    Ok(builder.build()?)
}

/// Takes any certificate whose owner has its key: what is signed must still be signed well.
#[derive(Debug)]
pub struct AnyCertificate(Arc<CryptoProvider>);

impl AnyCertificate {
    /// With the algorithms of `provider`.
    #[must_use]
    pub fn new(provider: &Arc<CryptoProvider>) -> Self {
        Self(Arc::clone(provider))
    }
}

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
