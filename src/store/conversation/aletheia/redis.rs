//! The context store on Redis, as Aletheia's own library writes it (S1 to S6), over TLS if the address says `rediss://`.
//!
//! In: a key and a context. Out: one `GET`, `SET` or `DEL`, byte for byte. One connection, made at the first operation; if
//! the server was stopped and started again since, the next operation makes a new one and is sent once more: each may be
//! carried out twice without a difference. Never a transaction, never an expiry that is read.

use super::{ContextStore, ContextStoreError, StoredContext};
use crate::{read_certificates, read_file};
use ::redis::{
    Client, ClientTlsConfig, Cmd, Connection, ConnectionAddr, ErrorKind, FromRedisValue, RedisError,
    TlsCertificates, cmd,
};
use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};

/// How long a connection may take to come about, and an answer to come.
const PATIENCE: Duration = Duration::from_secs(5);

/// How keys and values are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisOptions {
    /// The text before every key; nothing is escaped (S1).
    pub prefix: String,
    /// How long a value is kept, in seconds from its last set; without end if it is 0 or less (S3).
    pub ttl_seconds: i64,
}

impl Default for RedisOptions {
    fn default() -> Self {
        Self { prefix: "aletheia:ctx:".to_owned(), ttl_seconds: 3_600 }
    }
}

/// Who vouches for the server at a `rediss://` address, and who the client is. The server's certificate has to be valid for
/// the host of the address; there is no way to leave that out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RedisTls {
    /// A file of root certificates, as PEM. Without one, those of the system are used.
    pub root_certificates: Option<PathBuf>,
    /// Files of the client's own certificate chain and of its private key, as PEM.
    pub client: Option<(PathBuf, PathBuf)>,
}

/// Contexts in a Redis database.
pub struct RedisContextStore {
    client: Client,
    options: RedisOptions,
    connection: Mutex<Option<Connection>>,
}

impl RedisContextStore {
    /// A store at an address such as `redis://127.0.0.1:6379/0`, or `rediss://redis.example:6380/0` for TLS with the root
    /// certificates of the system. Nothing is sent yet.
    ///
    /// # Errors
    /// [`ContextStoreError::Unavailable`] for a text that is not an address.
    pub fn open(address: &str, options: RedisOptions) -> Result<Self, ContextStoreError> {
        let client = Client::open(address).map_err(|error| failure(&error))?;
        let client = Self { client, options, connection: Mutex::new(None) };
        if client.is_tls()? {
            Self::open_tls(address, client.options, &RedisTls::default())
        } else {
            Ok(client)
        }
    }

    /// A store at a `rediss://` address. The files are read here and not again. Nothing is sent yet.
    ///
    /// # Errors
    /// [`ContextStoreError::Unavailable`] for a text that is not such an address, and for files without certificates or keys.
    pub fn open_tls(address: &str, options: RedisOptions, tls: &RedisTls) -> Result<Self, ContextStoreError> {
        let root_cert = tls.root_certificates.as_deref().map(certificates).transpose()?;
        let client_tls = tls.client.as_ref().map(|(chain, key)| {
            Ok(ClientTlsConfig {
                client_cert: certificates(chain)?,
                client_key: read_file(key).map_err(ContextStoreError::Unavailable)?,
            })
        });
        let files = TlsCertificates { client_tls: client_tls.transpose()?, root_cert };
        // the driver takes the provider of the process; one that somebody has chosen stays
        let _ = CryptoProvider::get_default().is_none().then(|| ring::default_provider().install_default());
        let client = if tls.root_certificates.is_none() && tls.client.is_none() {
            Client::open(address)
        } else {
            Client::build_with_tls(address, files)
        };
        let client = client.map_err(|error| failure(&error))?;
        let store = Self { client, options, connection: Mutex::new(None) };
        if store.is_tls()? { Ok(store) } else { Err(unavailable("the address is not `rediss://`")) }
    }

    /// Whether the address asks for TLS; an error if it asks for one that checks nothing.
    fn is_tls(&self) -> Result<bool, ContextStoreError> {
        match self.client.get_connection_info().addr() {
            ConnectionAddr::TcpTls { insecure: true, .. } => {
                Err(unavailable("`#insecure` is not taken: name a root certificate instead"))
            }
            ConnectionAddr::TcpTls { .. } => Ok(true),
            _ => Ok(false),
        }
    }

    fn key(&self, key: &str) -> String {
        format!("{}{key}", self.options.prefix)
    }

    fn run<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, ContextStoreError> {
        // a connection that somebody left in the middle of an answer was taken out before
        let mut slot = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mut connection) = slot.take() {
            match command.query(&mut connection) {
                Err(error) if is_gone(&error) => {}
                done => {
                    *slot = Some(connection).filter(|_| is_usable(&done));
                    return done.map_err(|error| failure(&error));
                }
            }
        }
        let mut connection = self.connect().map_err(|error| failure(&error))?;
        let done = command.query(&mut connection);
        *slot = Some(connection).filter(|_| is_usable(&done));
        done.map_err(|error| failure(&error))
    }

    fn connect(&self) -> Result<Connection, RedisError> {
        let connection = self.client.get_connection_with_timeout(PATIENCE)?;
        connection.set_read_timeout(Some(PATIENCE))?;
        connection.set_write_timeout(Some(PATIENCE))?;
        Ok(connection)
    }
}

impl ContextStore for RedisContextStore {
    fn get(&self, key: &str) -> Result<Option<StoredContext>, ContextStoreError> {
        let value: Option<Vec<u8>> = self.run(cmd("GET").arg(self.key(key)))?;
        Ok(value.and_then(|value| StoredContext::from_json(std::str::from_utf8(&value).ok()?)))
    }

    fn set(&self, key: &str, data: &StoredContext) -> Result<(), ContextStoreError> {
        let mut command = cmd("SET");
        command.arg(self.key(key)).arg(data.to_json());
        if self.options.ttl_seconds > 0 {
            command.arg("EX").arg(self.options.ttl_seconds);
        }
        self.run(&command)
    }

    fn delete(&self, key: &str) -> Result<(), ContextStoreError> {
        self.run(cmd("DEL").arg(self.key(key)))
    }
}

impl fmt::Debug for RedisContextStore {
    /// Without the address, which may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisContextStore").field("options", &self.options).finish_non_exhaustive()
    }
}

/// A file of certificates, one at least: without any, nobody would vouch for anybody, and why would be hard to see.
fn certificates(file: &Path) -> Result<Vec<u8>, ContextStoreError> {
    read_certificates(file).map_err(ContextStoreError::Unavailable)
}

fn unavailable(why: &str) -> ContextStoreError {
    ContextStoreError::Unavailable(why.to_owned())
}

/// Whether the connection was closed at the other end.
fn is_gone(error: &RedisError) -> bool {
    !error.is_timeout() && (error.is_connection_dropped() || error.is_unrecoverable_error())
}

/// Whether the connection is as it was before the command.
fn is_usable<T>(done: &Result<T, RedisError>) -> bool {
    done.as_ref().err().is_none_or(|error| !is_gone(error) && !error.is_timeout() && !error.is_io_error())
}

/// The kind or the code of an error; its text may quote what was sent.
fn failure(error: &RedisError) -> ContextStoreError {
    match error.code() {
        Some(code) => ContextStoreError::Refused(code.to_owned()),
        None if error.kind() == ErrorKind::UnexpectedReturnType => {
            ContextStoreError::Refused("an answer of another type".to_owned())
        }
        None => ContextStoreError::Unavailable(match alert(error) {
            Some(alert) => format!("no TLS: {alert}"),
            None => error.category().to_owned(),
        }),
    }
}

/// What is wrong with the certificate of one end, if that is it. It holds names and times of certificates only.
fn alert(error: &RedisError) -> Option<String> {
    // the driver shares its sources
    let source = error.source()?.downcast_ref::<Arc<dyn Error + Send + Sync>>()?;
    let alert = source.downcast_ref::<std::io::Error>()?.get_ref()?;
    alert.is::<tokio_rustls::rustls::Error>().then(|| alert.to_string())
}
