//! Certificates that are made here: X.509 version 3 (RFC 5280), ECDSA on P-256 with SHA-256. That
//! of a server is for one address, and signed by its own key or by an authority made for it.

use std::net::{IpAddr, Ipv4Addr};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ring::{
    error::Unspecified,
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _},
};

/// The name of whoever has such a certificate.
pub(crate) const COMMON_NAME: &str = "rookery";
/// The name of an authority that signs one certificate.
const AUTHORITY_NAME: &str = "rookery authority";

/// Tags of DER.
const TRUTH: u8 = 0x01;
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

/// `ecdsa-with-SHA256`, `ecPublicKey`, `prime256v1`, `commonName`, `subjectAltName`,
/// `basicConstraints`.
const ECDSA_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];
const EC_KEY: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
const P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
const NAME_KIND: &[u8] = &[0x55, 0x04, 0x03];
const OTHER_NAMES: &[u8] = &[0x55, 0x1d, 0x11];
const CONSTRAINTS: &[u8] = &[0x55, 0x1d, 0x13];

/// From when to when it holds: a server has it for as long as it runs.
const BEGIN: &[u8] = b"20000101000000Z";
const END: &[u8] = b"21000101000000Z";

/// A key, and itself in PKCS #8 as DER.
struct Key {
    pair: EcdsaKeyPair,
    secret: Vec<u8>,
}

impl Key {
    fn make(random: &SystemRandom) -> Result<Self, Unspecified> {
        let kind = &ECDSA_P256_SHA256_ASN1_SIGNING;
        let secret = EcdsaKeyPair::generate_pkcs8(kind, random)?;
        let pair = EcdsaKeyPair::from_pkcs8(kind, secret.as_ref(), random);
        Ok(Self {
            pair: pair.map_err(|_| Unspecified)?,
            secret: secret.as_ref().to_vec(),
        })
    }

    /// A certificate that this key signs.
    fn sign(&self, random: &SystemRandom, named: &[u8]) -> Result<Vec<u8>, Unspecified> {
        let signature = self.pair.sign(random, named)?;
        Ok(of(
            SEQUENCE,
            &[named, &algorithm(), &bits(signature.as_ref())],
        ))
    }

    fn public(&self) -> &[u8] {
        self.pair.public_key().as_ref()
    }
}

/// A certificate and its key in PKCS #8, both DER.
///
/// # Errors
/// When the system gives no random numbers.
pub(super) fn self_signed(address: IpAddr) -> Result<(Vec<u8>, Vec<u8>), Unspecified> {
    let random = SystemRandom::new();
    let key = Key::make(&random)?;
    let names = ToBeSigned {
        number: 1,
        issuer: COMMON_NAME,
        subject: COMMON_NAME,
        public_key: key.public(),
        extension: address_extension(address),
    };
    Ok((key.sign(&random, &names.encoded())?, key.secret))
}

/// The certificate of a server for one address, and that of the authority that signed it and
/// nothing else: no one has its key.
///
/// # Errors
/// When the system gives no random numbers.
pub fn signed_by_own_authority(address: IpAddr) -> Result<SignedPair, NoRandomNumbers> {
    let made = || -> Result<SignedPair, Unspecified> {
        let random = SystemRandom::new();
        let (authority, server) = (Key::make(&random)?, Key::make(&random)?);
        let own = ToBeSigned {
            number: 1,
            issuer: AUTHORITY_NAME,
            subject: AUTHORITY_NAME,
            public_key: authority.public(),
            extension: authority_extension(),
        };
        let of_server = ToBeSigned {
            number: 2,
            issuer: AUTHORITY_NAME,
            subject: COMMON_NAME,
            public_key: server.public(),
            extension: address_extension(address),
        };
        let own = authority.sign(&random, &own.encoded())?;
        let signed = authority.sign(&random, &of_server.encoded())?;
        Ok(SignedPair {
            authority: pem("CERTIFICATE", &own),
            certificate: pem("CERTIFICATE", &signed),
            key: pem("PRIVATE KEY", &server.secret),
        })
    };
    made().map_err(|_| NoRandomNumbers)
}

/// The system gives no random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the system gives no random numbers")]
pub struct NoRandomNumbers;

/// A certificate, its key, and the certificate of who signed it, as PEM files.
#[derive(Clone)]
pub struct SignedPair {
    /// Whom those who connect must trust.
    pub authority: String,
    /// What the server shows.
    pub certificate: String,
    /// Its key: a secret.
    pub key: String,
}

impl std::fmt::Debug for SignedPair {
    /// The key is a secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SignedPair")
    }
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

/// What is signed.
struct ToBeSigned<'a> {
    /// Its number, which differs among those of an issuer.
    number: u8,
    issuer: &'a str,
    subject: &'a str,
    public_key: &'a [u8],
    /// What it is for.
    extension: Vec<u8>,
}

impl ToBeSigned<'_> {
    fn encoded(&self) -> Vec<u8> {
        let validity = of(SEQUENCE, &[&of(TIME, &[BEGIN]), &of(TIME, &[END])]);
        let key = {
            let kind = of(SEQUENCE, &[&of(OBJECT, &[EC_KEY]), &of(OBJECT, &[P256])]);
            of(SEQUENCE, &[&kind, &bits(self.public_key)])
        };
        of(
            SEQUENCE,
            &[
                &of(VERSION, &[&of(INTEGER, &[&[2]])]),
                &of(INTEGER, &[&[self.number]]),
                &algorithm(),
                &name(self.issuer),
                &validity,
                &name(self.subject),
                &key,
                &of(EXTENSIONS, &[&of(SEQUENCE, &[&self.extension])]),
            ],
        )
    }
}

fn name(text: &str) -> Vec<u8> {
    let kind = of(OBJECT, &[NAME_KIND]);
    let value = of(UTF8, &[text.as_bytes()]);
    let pair = of(SEQUENCE, &[&kind, &value]);
    of(SEQUENCE, &[&of(SET, &[&pair])])
}

/// That it is for this address.
fn address_extension(address: IpAddr) -> Vec<u8> {
    let octets = match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    let names = of(SEQUENCE, &[&of(ADDRESS, &[&octets])]);
    of(
        SEQUENCE,
        &[&of(OBJECT, &[OTHER_NAMES]), &of(OCTETS, &[&names])],
    )
}

/// That it is of an authority; who does not understand this must refuse it.
fn authority_extension() -> Vec<u8> {
    let truth = of(TRUTH, &[&[0xff]]);
    let constraints = of(SEQUENCE, &[&truth]);
    of(
        SEQUENCE,
        &[
            &of(OBJECT, &[CONSTRAINTS]),
            &truth,
            &of(OCTETS, &[&constraints]),
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

    /// Whether who trusts `root` finds a certificate good for an address.
    fn is_good(root: &CertificateDer<'_>, certificate: &CertificateDer<'_>, address: &str) -> bool {
        let mut roots = RootCertStore::empty();
        roots.add(root.clone().into_owned()).expect("read");
        let provider = Arc::new(default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .expect("a verifier");
        let name = ServerName::try_from(address.to_owned()).expect("a name");
        let verified = verifier.verify_server_cert(certificate, &[], &name, &[], UnixTime::now());
        verified.is_ok()
    }

    #[test]
    fn who_trusts_it_finds_it_good_for_its_address_alone() {
        let address = IpAddr::from(Ipv4Addr::new(127, 77, 3, 1));
        let (certificate, _) = self_signed(address).expect("made");
        let certificate = CertificateDer::from(certificate);
        assert!(is_good(&certificate, &certificate, "127.77.3.1"));
        assert!(!is_good(&certificate, &certificate, "127.77.3.2"));
    }

    #[test]
    fn an_authority_signs_one_certificate_and_no_other_does() {
        let make = || {
            let address = IpAddr::from(Ipv4Addr::new(192, 0, 2, 1));
            let made = signed_by_own_authority(address).expect("made");
            assert!(!format!("{made:?}").contains("KEY"));
            assert!(PrivateKeyDer::from_pem_slice(made.key.as_bytes()).is_ok());
            [made.authority, made.certificate].map(|pem| {
                let read = CertificateDer::from_pem_slice(pem.as_bytes());
                read.expect("a certificate")
            })
        };
        let ([authority, certificate], [other, _]) = (make(), make());
        assert!(is_good(&authority, &certificate, "192.0.2.1"));
        assert!(!is_good(&authority, &certificate, "192.0.2.2"));
        assert!(!is_good(&other, &certificate, "192.0.2.1"));
    }
}
