//! A certificate that a server makes for itself: X.509 version 3 (RFC 5280), ECDSA on P-256 with
//! SHA-256, signed by its own key, for one address.

use std::net::{IpAddr, Ipv4Addr};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ring::{
    error::Unspecified,
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _},
};

/// The name of whoever has such a certificate.
pub(crate) const COMMON_NAME: &str = "rookery";

/// Tags of DER.
const INTEGER: u8 = 0x02;
const BITS: u8 = 0x03;
const OCTETS: u8 = 0x04;
const OBJECT: u8 = 0x06;
const UTF8: u8 = 0x0c;
const TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const VERSION: u8 = 0xa0;
const EXTENSIONS: u8 = 0xa3;
/// An address among the names of a subject.
const ADDRESS: u8 = 0x87;

/// `ecdsa-with-SHA256`, `ecPublicKey`, `prime256v1`, `commonName`, `subjectAltName`.
const ECDSA_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];
const EC_KEY: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
const P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
const NAME_KIND: &[u8] = &[0x55, 0x04, 0x03];
const OTHER_NAMES: &[u8] = &[0x55, 0x1d, 0x11];

/// From when to when it holds: a server has it for as long as it runs.
const BEGIN: &[u8] = b"20000101000000Z";
const END: &[u8] = b"21000101000000Z";

/// A certificate and its key in PKCS #8, both DER.
///
/// # Errors
/// When the system gives no random numbers.
pub(super) fn self_signed(address: IpAddr) -> Result<(Vec<u8>, Vec<u8>), Unspecified> {
    let random = SystemRandom::new();
    let secret = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random)?;
    let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, secret.as_ref(), &random)
        .map_err(|_| Unspecified)?;
    let named = to_be_signed(address, key.public_key().as_ref());
    let signature = key.sign(&random, &named)?;
    let certificate = of(SEQUENCE, &[&named, &algorithm(), &bits(signature.as_ref())]);
    Ok((certificate, secret.as_ref().to_vec()))
}

/// A certificate and its key as PEM files (RFC 7468), for a server that reads them. It is for the
/// loopback: users of a guest, whose address is not known yet, take it as it is.
///
/// # Errors
/// When the system gives no random numbers.
pub(super) fn self_signed_pem() -> Result<PemPair, Unspecified> {
    let (certificate, key) = self_signed(Ipv4Addr::LOCALHOST.into())?;
    Ok(PemPair {
        certificate: pem("CERTIFICATE", &certificate),
        key: pem("PRIVATE KEY", &key),
    })
}

/// A certificate and its key as PEM files.
#[derive(Clone)]
pub(crate) struct PemPair {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl std::fmt::Debug for PemPair {
    /// The key is a secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PemPair")
    }
}

fn pem(label: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let lines: String = text
        .as_bytes()
        .chunks(64)
        .map(|line| format!("{}\n", String::from_utf8_lossy(line)))
        .collect();
    format!("-----BEGIN {label}-----\n{lines}-----END {label}-----\n")
}

fn to_be_signed(address: IpAddr, public_key: &[u8]) -> Vec<u8> {
    let octets = match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    let name = {
        let kind = of(OBJECT, &[NAME_KIND]);
        let value = of(UTF8, &[COMMON_NAME.as_bytes()]);
        let pair = of(SEQUENCE, &[&kind, &value]);
        of(SEQUENCE, &[&of(SET, &[&pair])])
    };
    let validity = of(SEQUENCE, &[&of(TIME, &[BEGIN]), &of(TIME, &[END])]);
    let key = {
        let kind = of(SEQUENCE, &[&of(OBJECT, &[EC_KEY]), &of(OBJECT, &[P256])]);
        of(SEQUENCE, &[&kind, &bits(public_key)])
    };
    let extensions = {
        let names = of(SEQUENCE, &[&of(ADDRESS, &[&octets])]);
        let extension = of(
            SEQUENCE,
            &[&of(OBJECT, &[OTHER_NAMES]), &of(OCTETS, &[&names])],
        );
        of(EXTENSIONS, &[&of(SEQUENCE, &[&extension])])
    };
    of(
        SEQUENCE,
        &[
            &of(VERSION, &[&of(INTEGER, &[&[2]])]),
            &of(INTEGER, &[&[1]]),
            &algorithm(),
            &name,
            &validity,
            &name,
            &key,
            &extensions,
        ],
    )
}

/// How it is signed.
fn algorithm() -> Vec<u8> {
    of(SEQUENCE, &[&of(OBJECT, &[ECDSA_SHA256])])
}

/// Whole bytes as a string of bits.
fn bits(bytes: &[u8]) -> Vec<u8> {
    of(BITS, &[&[0], bytes])
}

/// A value of DER: its tag, its length, its parts.
fn of(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let mut out = vec![tag];
    if content.len() < 0x80 {
        out.push(rookery_cast::count_u8(content.len()));
    } else {
        let length = content.len().to_be_bytes();
        let significant = &length[length.iter().take_while(|byte| **byte == 0).count()..];
        // A length has at most eight bytes.
        out.push(0x80 | rookery_cast::count_u8(significant.len()));
        out.extend(significant);
    }
    out.extend(content);
    out
}

#[cfg(test)]
mod tests {
    use std::{net::Ipv4Addr, sync::Arc};

    use tokio_rustls::rustls::{
        RootCertStore, ServerConfig,
        client::{WebPkiServerVerifier, danger::ServerCertVerifier as _},
        crypto::ring::default_provider,
        pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject as _},
    };

    use super::*;

    #[test]
    fn pem_files_hold_what_was_made() {
        let pair = self_signed_pem().expect("random numbers");
        assert!(pair.certificate.lines().all(|line| line.len() <= 64));
        let certificate = CertificateDer::from_pem_slice(pair.certificate.as_bytes());
        let certificate = certificate.expect("a certificate");
        let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).expect("a key");
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key);
        assert!(config.is_ok(), "they go together");
    }

    #[test]
    fn lengths_are_those_of_der() {
        assert_eq!(of(OCTETS, &[]), [OCTETS, 0]);
        assert_eq!(of(OCTETS, &[&[7], &[8]]), [OCTETS, 2, 7, 8]);
        let head = |length: usize| of(OCTETS, &[&vec![0; length]])[..4].to_vec();
        assert_eq!(head(127), [OCTETS, 127, 0, 0]);
        assert_eq!(head(128), [OCTETS, 0x81, 128, 0]);
        assert_eq!(head(258), [OCTETS, 0x82, 1, 2]);
    }

    #[test]
    fn who_trusts_it_finds_it_good_for_its_address_alone() {
        let address = IpAddr::from(Ipv4Addr::new(127, 77, 3, 1));
        let (certificate, _) = self_signed(address).expect("made");
        let certificate = CertificateDer::from(certificate);
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone()).expect("read");
        let provider = Arc::new(default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .expect("a verifier");
        let verified = |name: &str| {
            let name = ServerName::try_from(name.to_owned()).expect("a name");
            verifier.verify_server_cert(&certificate, &[], &name, &[], UnixTime::now())
        };
        assert!(
            verified("127.77.3.1").is_ok(),
            "{:?}",
            verified("127.77.3.1")
        );
        assert!(verified("127.77.3.2").is_err());
    }
}
