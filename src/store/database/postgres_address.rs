//! Where a Postgres server is and how it is spoken to: a connection string as libpq has it.
//!
//! In: `postgres://user@host/db?sslmode=verify-full&sslrootcert=…`, or the same as `key=value` pairs. Out: a connection over
//! TLS or not, as `sslmode` says. The driver knows three of libpq's six modes and no files of certificates, so these
//! parameters are taken out of the string here and the rest is left to it. Where libpq goes on without a file that was
//! named and is not there, this does not: nobody names a certificate to have it ignored.

use super::postgres_mode::{Mode, PATIENCE};
use super::postgres_tls::{Certificates, Connector, is_handshake};
use crate::messages;
use postgres::config::{Host, SslMode};
use postgres::error::SqlState;
use postgres::{Client, Config, NoTls};

/// A connection string, read.
#[derive(Clone)]
pub(crate) struct PostgresAddress {
    config: Config,
    mode: Mode,
    certificates: Certificates,
}

/// Why there is no connection.
pub(crate) enum PostgresFailure {
    /// A file of certificates that cannot be read or holds no certificate; the text says which file.
    Files(String),
    /// A handshake that failed; the text says why.
    Tls(String),
    /// An error of the driver or the server.
    Postgres(postgres::Error),
}

/// The parameters that are read here.
#[derive(Default)]
struct Own {
    mode: Option<String>,
    roots: Option<String>,
    certificate: Option<String>,
    key: Option<String>,
}

impl PostgresAddress {
    /// Reads a connection string. No file is read yet.
    ///
    /// # Errors
    /// What is no connection string, without quoting it: it may hold a password.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut own = Own::default();
        let rest = if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            own.take_from_url(text)?
        } else {
            own.take_from_pairs(text).ok_or_else(|| messages::NO_CONNECTION_STRING.to_owned())?
        };
        let mut config: Config = rest.parse().map_err(|_| messages::NO_CONNECTION_STRING.to_owned())?;
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(PATIENCE);
        }
        config.tcp_user_timeout(PATIENCE.saturating_mul(6)).keepalives_idle(PATIENCE);
        if config.get_hosts().is_empty() {
            // who names only an address has it checked as the name
            for address in config.get_hostaddrs().to_vec() {
                config.host(&address.to_string());
            }
        }
        let certificates = Certificates::new(own.roots, own.certificate, own.key);
        let mode = match (own.mode.as_deref(), certificates.are_of_the_system()) {
            (None | Some("verify-full"), true) | (Some("verify-full"), false) => Mode::VerifyFull,
            (Some(_), true) => return Err(messages::WEAK_WITH_SYSTEM.to_owned()),
            (None | Some("prefer"), false) => Mode::Prefer,
            (Some("disable"), false) => Mode::Disable,
            (Some("allow"), false) => Mode::Allow,
            (Some("require"), false) => Mode::Require,
            (Some("verify-ca"), false) => Mode::VerifyCa,
            (Some(_), false) => return Err(messages::NO_SSLMODE.to_owned()),
        };
        // TLS is for networks; libpq passes over `sslmode` for sockets of this machine too
        let is_local = |host: &Host| !matches!(host, Host::Tcp(_));
        let hosts = config.get_hosts();
        let mode = if !hosts.is_empty() && hosts.iter().all(is_local) { Mode::Disable } else { mode };
        Ok(Self { config, mode, certificates })
    }

    /// A new connection. Blocking; ends within the string's `connect_timeout` for each address, 5 seconds if it names none.
    ///
    /// # Errors
    /// [`PostgresFailure`].
    pub(crate) fn connect(&self) -> Result<Client, PostgresFailure> {
        let plain = || self.config.clone().ssl_mode(SslMode::Disable).connect(NoTls);
        match self.mode {
            Mode::Disable => plain().map_err(PostgresFailure::Postgres),
            Mode::Allow => match plain() {
                // the server has answered: it may be that it wants TLS
                Err(error) if error.code().is_some_and(wants_the_other) => self.secure(SslMode::Require),
                done => done.map_err(PostgresFailure::Postgres),
            },
            Mode::Prefer => match self.secure(SslMode::Prefer) {
                Err(PostgresFailure::Tls(_)) => plain().map_err(PostgresFailure::Postgres),
                Err(PostgresFailure::Postgres(error)) if error.code().is_some_and(wants_the_other) => {
                    plain().map_err(PostgresFailure::Postgres)
                }
                done => done,
            },
            Mode::Require | Mode::VerifyCa | Mode::VerifyFull => self.secure(SslMode::Require),
        }
    }

    fn secure(&self, mode: SslMode) -> Result<Client, PostgresFailure> {
        let connector = Connector::new(&self.certificates, self.mode).map_err(PostgresFailure::Files)?;
        self.config.clone().ssl_mode(mode).connect(connector).map_err(|error| match is_handshake(&error) {
            Some(why) => PostgresFailure::Tls(messages::no_tls(&why)),
            None => PostgresFailure::Postgres(error),
        })
    }
}

/// Whether a server that refuses a connection may take one of the other kind: no line of its `pg_hba.conf` fits. A wrong
/// password is not sent a second time, least of all in the clear.
fn wants_the_other(state: &SqlState) -> bool {
    *state == SqlState::INVALID_AUTHORIZATION_SPECIFICATION
}

impl Own {
    /// Takes a parameter if it is one of these. An empty name of a file is that of no file, as libpq has it.
    fn take(&mut self, name: &str, value: &str) -> bool {
        let file = (!value.is_empty()).then(|| value.to_owned());
        match name {
            "sslmode" => self.mode = Some(value.to_owned()),
            "sslrootcert" => self.roots = file,
            "sslcert" => self.certificate = file,
            "sslkey" => self.key = file,
            _ => return false,
        }
        true
    }

    /// The URL without these parameters.
    fn take_from_url(&mut self, url: &str) -> Result<String, String> {
        let (scheme, rest) = url.split_once("://").unwrap_or_default();
        let (credentials, place) = match rest.split_once('@') {
            Some((credentials, place)) if !is_place(credentials) => (Some(credentials), place),
            _ => (None, rest),
        };
        let (place, query) = place.split_once('?').unwrap_or((place, ""));
        let mut kept = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let decoded = decoded(name).zip(decoded(value));
            let (name, value) = decoded.ok_or_else(|| messages::NO_CONNECTION_STRING.to_owned())?;
            if name == "ssl" && value == "true" {
                // what JDBC calls it, and libpq takes
                self.mode = Some("require".to_owned());
            } else if !self.take(&name, &value) {
                if name.starts_with("ssl") && name != "sslnegotiation" {
                    return Err(messages::unknown_parameter(&name));
                }
                kept.push(pair.replace('@', "%40"));
            }
        }
        let credentials = credentials.map(|credentials| format!("{credentials}@")).unwrap_or_default();
        let mark = if kept.is_empty() { "" } else { "?" };
        // the driver takes an `@` anywhere for the end of the credentials
        Ok(format!("{scheme}://{credentials}{}{mark}{}", place.replace('@', "%40"), kept.join("&")))
    }

    /// The pairs without these parameters; nothing if they are none.
    fn take_from_pairs(&mut self, text: &str) -> Option<String> {
        let mut kept = String::new();
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let (name, after) = rest.split_once('=')?;
            let (value, after) = value_of(after.trim_start())?;
            let name = name.trim_end();
            if !self.take(name, &value) {
                let value = value.replace('\\', "\\\\").replace('\'', "\\'");
                kept.push_str(&format!("{name}='{value}' "));
            }
            rest = after.trim_start();
        }
        Some(kept)
    }
}

/// Whether what stands before an `@` is a host with parameters, in one of which the `@` is, and no name with a password.
fn is_place(text: &str) -> bool {
    text.split_once('?').is_some_and(|(before, after)| before.contains('/') || after.contains('='))
}

/// A value at the beginning of a text, in quotes or up to a blank; `\` takes the next character as it is. And what follows.
fn value_of(text: &str) -> Option<(String, &str)> {
    let (is_quoted, body) = match text.strip_prefix('\'') {
        Some(body) => (true, body),
        None => (false, text),
    };
    let mut value = String::new();
    let mut characters = body.chars();
    loop {
        let before = characters.as_str();
        match characters.next() {
            None if is_quoted => return None,
            None => return Some((value, "")),
            Some('\'') if is_quoted => return Some((value, characters.as_str())),
            Some(blank) if !is_quoted && blank.is_whitespace() => return Some((value, before)),
            Some('\\') => value.extend(characters.next()),
            Some(character) => value.push(character),
        }
    }
}

/// A percent-encoded part of a URL.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let byte = match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            byte => byte,
        };
        bytes.push(byte);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::{Host, Mode, PostgresAddress};

    fn mode(text: &str) -> Result<Mode, String> {
        PostgresAddress::parse(text).map(|address| address.mode)
    }

    #[test]
    fn every_mode_is_read_in_both_forms() {
        let modes = [
            ("disable", Mode::Disable),
            ("allow", Mode::Allow),
            ("prefer", Mode::Prefer),
            ("require", Mode::Require),
            ("verify-ca", Mode::VerifyCa),
            ("verify-full", Mode::VerifyFull),
        ];
        for (word, expected) in modes {
            for text in [
                format!("postgres://db/celador?sslmode={word}"),
                format!(
                    "postgresql://ann:p%40ss@db:5433/celador?application_name=x&sslmode={word}&sslrootcert=%2Fa"
                ),
                format!("postgres://db/celador?application_name=a@b&sslmode={word}"),
                format!("postgres://db/celador?sslmode={word}&application_name=a@b"),
                format!("postgres://db?ssl%6dode={word}"),
                format!("postgres://db/celador?sslmode=disable&sslmode={word}"),
                format!("host=db sslmode={word}"),
                format!("host = 'db' sslmode = '{word}' password='a b\\'c\\\\'"),
            ] {
                assert_eq!(mode(&text), Ok(expected), "{text}");
            }
        }
        assert_eq!(mode("postgres://db/celador"), Ok(Mode::Prefer));
        assert_eq!(mode("postgres://db/celador?ssl=true"), Ok(Mode::Require));
        assert_eq!(mode("postgres://db/celador?sslrootcert=system"), Ok(Mode::VerifyFull));
        assert_eq!(mode("host=/run/postgresql sslmode=verify-full"), Ok(Mode::Disable));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for (text, expected) in [
            ("postgres://db/celador?sslmode=verify", "`sslmode`"),
            ("postgres://db/celador?sslmode=", "`sslmode`"),
            ("postgres://db/celador?sslmode=Require", "`sslmode`"),
            ("postgres://db/celador?sslmode=require&sslrootcert=system", "verify-full"),
            ("postgres://db/celador?sslmode=disable&sslrootcert=system", "verify-full"),
            ("postgres://db/celador?sslcrl=/a", "`sslcrl`"),
            ("postgres://db/celador?sslpassword=secret", "`sslpassword`"),
            ("postgres://db/celador?sslmode=%zz", "connection string"),
            ("host=db sslmode='require", "connection string"),
            ("host=db sslcrl=secret", "connection string"),
            ("nothing", "connection string"),
        ] {
            let said = PostgresAddress::parse(text).err().unwrap_or_default();
            assert!(said.contains(expected) && !said.contains("secret"), "{text}: {said}");
        }
    }

    #[test]
    fn the_rest_reaches_the_driver_as_it_was() {
        for text in [
            "postgres://ann:p%3Fw%26sslmode%3Ddisable@db:5433/celador?sslmode=require&application_name=a%26b",
            "postgres://ann:p?w&sslmode%3Ddisable@db:5433/celador?application_name=a%26b&sslkey=%2Fkey",
            "user=ann password='p?w&sslmode=disable' host=db port=5433 dbname=celador sslcert='/a b' application_name=a&b",
        ] {
            let PostgresAddress { config, .. } = PostgresAddress::parse(text).unwrap();
            assert_eq!(config.get_hosts(), [Host::Tcp("db".to_owned())], "{text}");
            assert_eq!((config.get_user(), config.get_ports()), (Some("ann"), &[5433][..]), "{text}");
            assert_eq!(config.get_password(), Some(&b"p?w&sslmode=disable"[..]), "{text}");
            assert_eq!(config.get_dbname(), Some("celador"), "{text}");
            assert_eq!(config.get_application_name(), Some("a&b"), "{text}");
        }
        let PostgresAddress { config, .. } = PostgresAddress::parse("hostaddr=127.0.0.1,::1 user=a").unwrap();
        assert_eq!(config.get_hosts(), [Host::Tcp("127.0.0.1".to_owned()), Host::Tcp("::1".to_owned())]);
    }
}
