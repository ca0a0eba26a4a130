//! TLS to a Postgres server: whom it is spoken with, and who speaks.
//!
//! In: files of certificates and what is asked of them. Out: what the driver makes its streams with. `rustls` speaks; the
//! crates that join it to the driver check the whole or nothing, and libpq has modes in between, so the joint is made here.
//! Files are read at each connection: a new certificate needs no restart.

use super::postgres_mode::{Mode, PATIENCE};
use crate::messages;
use postgres::Socket;
use postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use sha2::{Digest as _, Sha256, Sha384, Sha512};
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use tokio_rustls::rustls::crypto::{
    WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature,
};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, alg_id};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::{
    ClientConfig, DigitallySignedStruct, Error as TlsError, RootCertStore, SignatureScheme,
};

/// The roots of the system, in the place of a file.
const SYSTEM: &str = "system";

/// What is spoken inside (libpq sends it too).
const PROTOCOL: &[u8] = b"postgresql";

/// Which files are used.
#[derive(Clone)]
pub(super) struct Certificates {
    roots: Option<PathBuf>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
}

impl Certificates {
    pub(super) fn new(roots: Option<String>, certificate: Option<String>, key: Option<String>) -> Self {
        let path = |text: Option<String>| text.map(PathBuf::from);
        Self { roots: path(roots), certificate: path(certificate), key: path(key) }
    }

    /// Whether the roots are those that the system trusts.
    pub(super) fn are_of_the_system(&self) -> bool {
        self.roots.as_deref() == Some(Path::new(SYSTEM))
    }

    /// The roots that vouch for the server; nothing if there are none and none are needed.
    fn roots(&self, mode: Mode) -> Result<Option<RootCertStore>, String> {
        let mut roots = RootCertStore::empty();
        if self.are_of_the_system() {
            // those that cannot be read or parsed vouch for nobody
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            return if roots.is_empty() { Err(messages::no_system_roots()) } else { Ok(Some(roots)) };
        }
        let Some(file) = self.roots.clone().or_else(|| usual("root.crt")) else {
            let are_needed = matches!(mode, Mode::VerifyCa | Mode::VerifyFull);
            return if are_needed { Err(messages::no_roots()) } else { Ok(None) };
        };
        for certificate in certificates(&file)? {
            roots.add(certificate).map_err(|_| messages::no_certificates(&file))?;
        }
        Ok(Some(roots))
    }

    /// The client's own certificate and key, if it has one.
    fn own(&self) -> Result<Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>, String> {
        let Some(certificate) = self.certificate.clone().or_else(|| usual("postgresql.crt")) else {
            return if self.key.is_some() { Err(messages::key_without_certificate()) } else { Ok(None) };
        };
        let key = self.key.clone().or_else(|| usual("postgresql.key"));
        let key = key.ok_or_else(|| messages::no_key_for(&certificate))?;
        if !is_private(&key).map_err(|error| messages::unreadable(&key, &error))? {
            return Err(messages::key_for_others(&key));
        }
        let text = read_file(&key)?;
        let read = PrivateKeyDer::from_pem_slice(&text).map_err(|_| messages::no_private_key(&key))?;
        Ok(Some((certificates(&certificate)?, read)))
    }
}

/// A file, or why it cannot be read.
pub(crate) fn read_file(file: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(file).map_err(|error| messages::unreadable(file, &error))
}

/// The text of a file of certificates, one at least.
pub(crate) fn read_certificates(file: &Path) -> Result<Vec<u8>, String> {
    let text = read_file(file)?;
    let holds_one = CertificateDer::pem_slice_iter(&text).next().is_some_and(|first| first.is_ok());
    if holds_one { Ok(text) } else { Err(messages::no_certificates(file)) }
}

/// The certificates of a file, one at least.
fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let text = read_file(file)?;
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    read.ok().filter(|read| !read.is_empty()).ok_or_else(|| messages::no_certificates(file))
}

/// A file where libpq looks for it, if it is there.
fn usual(name: &str) -> Option<PathBuf> {
    let file = std::env::home_dir()?.join(".postgresql").join(name);
    file.exists().then_some(file)
}

/// Whether nobody else can read a key: libpq's rule, by which the group may if the key is root's.
#[cfg(unix)]
fn is_private(key: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let file = std::fs::metadata(key)?;
    let others = if file.uid() == 0 { 0o027 } else { 0o077 };
    Ok(file.mode() & others == 0)
}

#[cfg(not(unix))]
fn is_private(key: &Path) -> io::Result<bool> {
    std::fs::metadata(key).map(|_| true)
}

/// Makes streams for the driver.
#[derive(Clone)]
pub(super) struct Connector(Arc<ClientConfig>);

impl Connector {
    /// Reads the files.
    ///
    /// # Errors
    /// What is wrong with one of them.
    pub(super) fn new(files: &Certificates, mode: Mode) -> Result<Self, String> {
        let provider = Arc::new(ring::default_provider());
        let roots = files.roots(mode)?;
        let verifier = Verifier {
            roots,
            checks_name: mode == Mode::VerifyFull,
            algorithms: provider.signature_verification_algorithms,
        };
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = builder.map_err(|error| messages::no_tls(&error))?;
        let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
        let mut config = match files.own()? {
            Some((chain, key)) => {
                builder.with_client_auth_cert(chain, key).map_err(|error| messages::no_tls(&error))?
            }
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        Ok(Self(Arc::new(config)))
    }
}

/// Whom the other end may be.
#[derive(Debug)]
struct Verifier {
    /// Who vouches for it; anybody may be there if nothing.
    roots: Option<RootCertStore>,
    checks_name: bool,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        if let Some(roots) = &self.roots {
            let certificate = ParsedCertificate::try_from(end_entity)?;
            let algorithms = self.algorithms.all;
            verify_server_cert_signed_by_trust_anchor(&certificate, roots, intermediates, now, algorithms)?;
            if self.checks_name {
                verify_server_name(&certificate, server_name)?;
            }
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// A handshake that failed, so that it can be told from a connection that did.
#[derive(Debug)]
pub(super) struct Handshake(io::Error);

impl fmt::Display for Handshake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for Handshake {}

/// What a failed connection says of its handshake: nothing if it failed at something else.
pub(super) fn is_handshake(error: &postgres::Error) -> Option<String> {
    let source = error.source()?;
    match source.downcast_ref::<Handshake>() {
        Some(handshake) => Some(handshake.to_string()),
        // the driver's own word: it has no kinds that could be asked for
        None if source.to_string() == NO_TLS_THERE => Some(NO_TLS_THERE.to_owned()),
        // in TLS 1.3 a server says what it thinks of a client's certificate after the handshake
        None => {
            let alert = source.downcast_ref::<io::Error>()?.get_ref()?;
            alert.is::<TlsError>().then(|| alert.to_string())
        }
    }
}

/// What the driver says if TLS is wanted and the server has none.
const NO_TLS_THERE: &str = "server does not support TLS";

impl MakeTlsConnect<Socket> for Connector {
    type Stream = Secured;
    type TlsConnect = Connecting;
    type Error = Handshake;

    fn make_tls_connect(&mut self, host: &str) -> Result<Connecting, Handshake> {
        let name = ServerName::try_from(host.to_owned());
        let name = name.map_err(|error| Handshake(io::Error::other(error)))?;
        Ok(Connecting { config: self.0.clone(), name })
    }
}

/// A connection that is about to be secured.
pub(super) struct Connecting {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl TlsConnect<Socket> for Connecting {
    type Stream = Secured;
    type Error = Handshake;
    type Future = Pin<Box<dyn Future<Output = Result<Secured, Handshake>> + Send>>;

    fn connect(self, stream: Socket) -> Self::Future {
        let handshake = TlsConnector::from(self.config).connect(self.name, stream);
        Box::pin(async {
            let done = timeout(PATIENCE, handshake).await.unwrap_or_else(|late| Err(io::Error::other(late)));
            done.map(Secured).map_err(Handshake)
        })
    }
}

/// A secured connection.
pub(super) struct Secured(tokio_rustls::client::TlsStream<Socket>);

impl TlsStream for Secured {
    /// What binds a password's proof to this connection (RFC 5929, 4), so that nobody in between can pass it on.
    fn channel_binding(&self) -> ChannelBinding {
        let chain = self.0.get_ref().1.peer_certificates();
        let digest = chain.and_then(<[_]>::first).and_then(|certificate| end_point(certificate));
        digest.map_or_else(ChannelBinding::none, ChannelBinding::tls_server_end_point)
    }
}

impl AsyncRead for Secured {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Secured {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

/// The digest of a certificate by the hash of its signature; nothing for a signature without one (Ed25519), for which RFC
/// 5929 defines none.
fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    // Certificate ::= SEQUENCE { tbsCertificate, signatureAlgorithm, signatureValue } (RFC 5280, 4.1)
    let (fields, _) = element(certificate)?;
    let (_, rest) = element(fields)?;
    let (algorithm, _) = element(rest)?;
    let is = |known: &[alg_id::AlgorithmIdentifier]| known.iter().any(|known| known.as_ref() == algorithm);
    if is(&[alg_id::ECDSA_SHA256, alg_id::RSA_PKCS1_SHA256, alg_id::RSA_PSS_SHA256]) {
        Some(Sha256::digest(certificate).to_vec())
    } else if is(&[alg_id::ECDSA_SHA384, alg_id::RSA_PKCS1_SHA384, alg_id::RSA_PSS_SHA384]) {
        Some(Sha384::digest(certificate).to_vec())
    } else if is(&[alg_id::ECDSA_SHA512, alg_id::RSA_PKCS1_SHA512, alg_id::RSA_PSS_SHA512]) {
        Some(Sha512::digest(certificate).to_vec())
    } else {
        None
    }
}

/// The content of the first DER element, and what follows it.
fn element(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&first, rest) = bytes.get(1..)?.split_first()?;
    let (length, rest) = match first {
        short @ 0..=127 => (usize::from(short), rest),
        // so many bytes of length follow; four are more than any certificate has
        long => {
            let (length, rest) =
                rest.split_at_checked(usize::from(long & 127)).filter(|(length, _)| length.len() <= 4)?;
            (length.iter().fold(0, |sum: usize, byte| (sum << 8) | usize::from(*byte)), rest)
        }
    };
    rest.split_at_checked(length)
}
