//! Connections to stores over TLS: real servers with certificates made here, and everything that must keep a client from
//! believing the wrong one.

use crate::servers::{PostgresServer, RedisServer, Stop, free_port};
use celador_store::conversation::aletheia::{
    ContextStore, PostgresContextStore, RedisContextStore, RedisOptions, RedisTls, StoredContext,
};
use celador_store::{Database, Location, StoreError, StoreLimits};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, PKCS_ECDSA_P384_SHA384, date_time_ymd,
};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An authority, and its certificate as PEM.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

/// A certificate and its key, as PEM.
struct Pair {
    chain: String,
    key: String,
}

impl Authority {
    fn new(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    fn signs(&self, params: &CertificateParams, key: &KeyPair) -> Pair {
        Pair { chain: params.signed_by(key, &self.issuer).unwrap().pem(), key: key.serialize_pem() }
    }

    /// A certificate for a host, signed with SHA-256.
    fn of_host(&self, name: &str) -> Pair {
        self.signs(&CertificateParams::new([name.to_owned()]).unwrap(), &KeyPair::generate().unwrap())
    }

    /// A certificate of somebody.
    fn of_client(&self, name: &str) -> Pair {
        let mut params = CertificateParams::new([]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        self.signs(&params, &KeyPair::generate().unwrap())
    }
}

/// Files of a client.
struct Files(tempfile::TempDir);

impl Files {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (name, text) in files {
            fs::write(folder.path(name), text).unwrap();
            if name.ends_with(".key") {
                folder.mode(name, "600");
            }
        }
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn mode(&self, name: &str, mode: &str) {
        assert!(Command::new("chmod").arg(mode).arg(self.path(name)).status().unwrap().success());
    }
}

/// Who may come in how; the roles are made by [`postgres`].
const RULES: &str = "\
local all all trust
host all postgres 127.0.0.1/32 trust
hostssl all secure 127.0.0.1/32 trust
hostnossl all plain 127.0.0.1/32 trust
hostssl all certified 127.0.0.1/32 cert
hostssl all proven 127.0.0.1/32 scram-sha-256
";

const TLS: &str = "-c ssl=on -c ssl_cert_file={folder}/server.crt -c ssl_key_file={folder}/server.key \
                   -c ssl_ca_file={folder}/root.crt";

/// A server with this certificate, whose clients' are vouched for by the authority.
fn postgres(authority: &Authority, server: &Pair) -> PostgresServer {
    let files = [("server.crt", &*server.chain), ("server.key", &*server.key), ("root.crt", &*authority.pem)];
    let server = PostgresServer::start_with(&files, TLS, RULES);
    let mut client = postgres::Client::connect(&server.url("postgres"), postgres::NoTls).unwrap();
    let roles = "CREATE ROLE secure SUPERUSER LOGIN; CREATE ROLE plain SUPERUSER LOGIN; \
                 CREATE ROLE certified SUPERUSER LOGIN; CREATE ROLE proven SUPERUSER LOGIN PASSWORD 'p@ss'";
    client.batch_execute(roles).unwrap();
    server
}

/// How a store is reached by a connection string, or the error, in which the moment of the attempt is left out.
fn reached(address: &str) -> Result<String, String> {
    let open = Database::open(&Location::Postgres(address.to_owned()), &StoreLimits::default());
    let asked = open.and_then(|database| {
        let how =
            "SELECT CASE WHEN ssl THEN 'tls' ELSE 'plain' END FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
        database.read(|sql| sql.query_one(how, &[])?.ok_or(StoreError::NotFound)?.text(0).map(str::to_owned))
    });
    asked.map_err(|error| {
        // "… certificate expired: verification time 1795822467 (UNIX), but …" differs from second to second
        error.to_string().split(": verification time").next().unwrap().to_owned()
    })
}

/// Compares rows of user, host, parameters, and how the store is reached or what is said instead.
fn expect(server: &PostgresServer, files: &Files, rows: &[(&str, &str, &str, &str)]) {
    let folder = files.0.path().display().to_string();
    for (user, host, parameters, expected) in rows {
        let parameters = parameters.replace('~', &folder);
        let port = server.port();
        let url = format!("postgres://{user}@{host}:{port}/postgres?{parameters}");
        let found = reached(&url).unwrap_or_else(|error| error);
        let is_reached = matches!(*expected, "tls" | "plain");
        let matches = if is_reached { found == *expected } else { found.contains(expected) };
        assert!(matches, "{url}\n expected {expected}\n found {found}");
        let pairs = parameters.replace('&', " ");
        let found_by_pairs = reached(&format!(
            "user={} host={host} port={port} dbname=postgres {pairs} {}",
            user.split(':').next().unwrap(),
            if user.contains(':') { "password=p@ss" } else { "" }
        ));
        assert_eq!(found_by_pairs.unwrap_or_else(|error| error), found, "{pairs}");
    }
}

#[test]
fn every_sslmode_does_what_libpq_says() {
    let (authority, stranger) = (Authority::new("root"), Authority::new("stranger"));
    let server = postgres(&authority, &authority.of_host("localhost"));
    let (own, false_one) = (authority.of_client("certified"), stranger.of_client("certified"));
    let other = authority.of_client("somebody");
    let files = Files::new(&[
        ("root.crt", &authority.pem),
        ("stranger.crt", &stranger.pem),
        ("both.crt", &format!("{}{}", stranger.pem, authority.pem)),
        ("own.crt", &own.chain),
        ("own.key", &own.key),
        ("false.crt", &false_one.chain),
        ("false.key", &false_one.key),
        ("other.crt", &other.chain),
        ("other.key", &other.key),
        ("open.key", &own.key),
        ("no.key", ""),
        ("empty", ""),
    ]);
    files.mode("open.key", "644");
    let unknown = "invalid peer certificate: UnknownIssuer";
    let no_name = "certificate not valid for name";
    expect(
        &server,
        &files,
        &[
            // whoever takes both
            ("postgres", "localhost", "sslmode=disable", "plain"),
            ("postgres", "localhost", "sslmode=allow", "plain"),
            ("postgres", "localhost", "", "tls"),
            ("postgres", "localhost", "sslmode=prefer", "tls"),
            ("postgres", "localhost", "sslmode=require", "tls"),
            // who takes one of the two
            ("secure", "localhost", "sslmode=disable", "28000"),
            ("secure", "localhost", "sslmode=allow", "tls"),
            ("secure", "localhost", "sslmode=prefer", "tls"),
            ("plain", "localhost", "sslmode=allow", "plain"),
            ("plain", "localhost", "sslmode=prefer", "plain"),
            ("plain", "localhost", "sslmode=require", "28000"),
            // a root that vouches for the server
            ("secure", "localhost", "sslmode=require&sslrootcert=~/root.crt", "tls"),
            ("secure", "localhost", "sslmode=verify-ca&sslrootcert=~/root.crt", "tls"),
            ("secure", "localhost", "sslmode=verify-full&sslrootcert=~/root.crt", "tls"),
            ("secure", "localhost", "sslmode=verify-full&sslrootcert=~/both.crt", "tls"),
            // one that does not: a mode that asks for nothing goes on without TLS where it may
            ("secure", "localhost", "sslmode=require&sslrootcert=~/stranger.crt", unknown),
            ("secure", "localhost", "sslmode=verify-ca&sslrootcert=~/stranger.crt", unknown),
            ("secure", "localhost", "sslmode=verify-full&sslrootcert=~/stranger.crt", unknown),
            ("postgres", "localhost", "sslmode=prefer&sslrootcert=~/stranger.crt", "plain"),
            // another name
            ("secure", "127.0.0.1", "sslmode=require&sslrootcert=~/root.crt", "tls"),
            ("secure", "127.0.0.1", "sslmode=verify-ca&sslrootcert=~/root.crt", "tls"),
            ("secure", "127.0.0.1", "sslmode=verify-full&sslrootcert=~/root.crt", no_name),
            (
                "secure",
                "db.example",
                "sslmode=verify-full&sslrootcert=~/root.crt&hostaddr=127.0.0.1",
                no_name,
            ),
            ("secure", "db.example", "sslmode=verify-ca&sslrootcert=~/root.crt&hostaddr=127.0.0.1", "tls"),
            ("secure", "localhost", "sslmode=verify-full&sslrootcert=~/root.crt&hostaddr=127.0.0.1", "tls"),
            // files that are not what they should be are never passed over
            ("postgres", "localhost", "sslmode=verify-ca", "need `sslrootcert`"),
            ("postgres", "localhost", "sslmode=verify-full", "need `sslrootcert`"),
            ("postgres", "localhost", "sslmode=prefer&sslrootcert=~/missing", "cannot be read"),
            ("postgres", "localhost", "sslmode=require&sslrootcert=~/empty", "holds no certificate"),
            ("postgres", "localhost", "sslmode=require&sslcert=~/own.crt", "`sslkey` is missing"),
            ("postgres", "localhost", "sslmode=require&sslkey=~/own.key", "`sslkey` needs `sslcert`"),
            (
                "postgres",
                "localhost",
                "sslmode=require&sslcert=~/own.crt&sslkey=~/open.key",
                "read by others",
            ),
            (
                "postgres",
                "localhost",
                "sslmode=require&sslcert=~/own.crt&sslkey=~/no.key",
                "holds no private key",
            ),
            (
                "postgres",
                "localhost",
                "sslmode=require&sslcert=~/own.crt&sslkey=~/false.key",
                "no TLS to Postgres",
            ),
            // who the client is
            ("certified", "localhost", "sslmode=require&sslcert=~/own.crt&sslkey=~/own.key", "tls"),
            (
                "certified",
                "localhost",
                "sslmode=verify-full&sslrootcert=~/root.crt&sslcert=~/own.crt&sslkey=~/own.key",
                "tls",
            ),
            ("certified", "localhost", "sslmode=require", "28000"),
            ("certified", "localhost", "sslmode=require&sslcert=~/other.crt&sslkey=~/other.key", "28000"),
            (
                "certified",
                "localhost",
                "sslmode=require&sslcert=~/false.crt&sslkey=~/false.key",
                "received fatal alert",
            ),
            // a password whose proof is bound to the connection
            (
                "proven:p%40ss",
                "localhost",
                "sslmode=verify-full&sslrootcert=~/root.crt&channel_binding=require",
                "tls",
            ),
            ("proven:p%40ss", "localhost", "sslmode=require&channel_binding=disable", "tls"),
        ],
    );
    // a wrong password is not sent again in the clear, and roots of the system vouch for nobody here
    let port = server.port();
    let wrong = reached(&format!("postgres://proven:wrong@localhost:{port}/postgres")).unwrap_err();
    assert!(wrong.contains("28P01"), "{wrong}");
    let weak =
        reached(&format!("postgres://secure@localhost:{port}/postgres?sslmode=require&sslrootcert=system"));
    assert!(weak.unwrap_err().contains("has to be `verify-full`"));

    // the other store that speaks to Postgres
    let contexts = |parameters: &str| {
        let url = format!("postgres://secure@localhost:{port}/postgres?{parameters}");
        PostgresContextStore::open(&url).and_then(|store| store.get("k")).map_err(|error| error.to_string())
    };
    let roots = files.path("root.crt").display().to_string();
    let table = "CREATE TABLE context_store (key TEXT PRIMARY KEY, context_id TEXT, task_id TEXT, updated_at TIMESTAMP)";
    let mut client = postgres::Client::connect(&server.url("postgres"), postgres::NoTls).unwrap();
    client.batch_execute(table).unwrap();
    assert_eq!(contexts(&format!("sslmode=verify-full&sslrootcert={roots}")), Ok(None));
    assert_eq!(contexts("sslmode=require"), Ok(None));
    assert!(contexts("sslmode=disable").unwrap_err().contains("28000"));
    let strange = files.path("stranger.crt").display().to_string();
    assert!(contexts(&format!("sslmode=verify-ca&sslrootcert={strange}")).unwrap_err().contains(unknown));

    // libpq's own places for files, and the roots of the system, for a process that has them
    fs::create_dir(files.path(".postgresql")).unwrap();
    fs::copy(files.path("root.crt"), files.path(".postgresql/root.crt")).unwrap();
    let check = |parameters: &str, home: &Path, system: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_celador"));
        command.env("CELADOR_STORE", format!("postgres://secure@localhost:{port}/postgres?{parameters}"));
        command.env("HOME", home).env("SSL_CERT_FILE", system).env_remove("SSL_CERT_DIR");
        let output = command.args(["store", "check"]).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (home, nobody) = (files.0.path().to_owned(), tempfile::tempdir().unwrap());
    let (root, strange) = (files.path("root.crt"), files.path("stranger.crt"));
    assert_eq!(check("sslmode=verify-full", &home, &strange).0, Some(0));
    assert_eq!(check("sslmode=verify-full", nobody.path(), &strange).0, Some(1));
    assert_eq!(check("sslrootcert=system", nobody.path(), &root).0, Some(0));
    let (code, said) = check("sslrootcert=system", &home, &strange);
    assert!(code == Some(1) && said.contains(unknown), "{said}");
}

/// A certificate may be exchanged or run out while a client is at work: each new connection looks anew.
#[test]
fn certificates_are_looked_at_anew_with_each_connection() {
    let authority = Authority::new("root");
    // a signature with SHA-384, by which the binding of a password's proof is made too
    let key = KeyPair::generate_for(&PKCS_ECDSA_P384_SHA384).unwrap();
    let mut params = CertificateParams::new([]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, "stronger root");
    let stronger =
        Authority { pem: params.self_signed(&key).unwrap().pem(), issuer: Issuer::new(params, key) };
    let server = postgres(&authority, &stronger.of_host("127.0.0.1"));
    let files = Files::new(&[("root.crt", &stronger.pem)]);
    let checked = "sslmode=verify-full&sslrootcert=~/root.crt&channel_binding=require";
    let proven = "proven:p%40ss";
    expect(&server, &files, &[(proven, "127.0.0.1", checked, "tls")]);

    let mut params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(2021, 1, 1));
    let late = stronger.signs(&params, &KeyPair::generate().unwrap());
    let exchange = |pair: &Pair| {
        server.put("server.crt", &pair.chain);
        server.put("server.key", &pair.key);
        server.stop(Stop::Fast);
        server.start_again();
    };
    exchange(&late);
    expect(
        &server,
        &files,
        &[
            (proven, "127.0.0.1", checked, "certificate expired"),
            ("secure", "127.0.0.1", "sslmode=verify-ca&sslrootcert=~/root.crt", "certificate expired"),
            ("secure", "127.0.0.1", "sslmode=require", "tls"),
        ],
    );
    exchange(&authority.of_host("127.0.0.1"));
    expect(&server, &files, &[(proven, "127.0.0.1", checked, "UnknownIssuer")]);
    fs::write(files.path("root.crt"), &authority.pem).unwrap();
    expect(&server, &files, &[(proven, "127.0.0.1", checked, "tls")]);
}

#[test]
fn a_server_without_tls_is_refused_by_whoever_wants_it() {
    let files = Files::new(&[("root.crt", &Authority::new("root").pem)]);
    let none = "server does not support TLS";
    expect(
        PostgresServer::shared(),
        &files,
        &[
            ("postgres", "127.0.0.1", "", "plain"),
            ("postgres", "127.0.0.1", "sslmode=allow", "plain"),
            ("postgres", "127.0.0.1", "sslmode=require", none),
            ("postgres", "127.0.0.1", "sslmode=verify-ca&sslrootcert=~/root.crt", none),
            ("postgres", "127.0.0.1", "sslmode=verify-full&sslrootcert=~/root.crt", none),
        ],
    );
}

#[test]
fn redis_is_spoken_to_over_tls_with_whom_the_address_names() {
    let (authority, stranger) = (Authority::new("root"), Authority::new("stranger"));
    let server = authority.of_host("localhost");
    let own = authority.of_client("celador");
    let port = free_port();
    let start = |clients: &str| {
        let settings = format!(
            "tls-port {port}\ntls-cert-file {{folder}}/server.crt\ntls-key-file {{folder}}/server.key\n\
             tls-ca-cert-file {{folder}}/root.crt\ntls-auth-clients {clients}"
        );
        let files =
            [("server.crt", &*server.chain), ("server.key", &*server.key), ("root.crt", &*authority.pem)];
        RedisServer::start_with(&files, &settings)
    };
    let files = Files::new(&[
        ("root.crt", &authority.pem),
        ("stranger.crt", &stranger.pem),
        ("own.crt", &own.chain),
        ("own.key", &own.key),
        ("empty", ""),
    ]);
    let tls = |roots: &str, is_known: bool| RedisTls {
        root_certificates: Some(files.path(roots)),
        client: is_known.then(|| (files.path("own.crt"), files.path("own.key"))),
    };
    let open = |address: &str, tls: &RedisTls| {
        RedisContextStore::open_tls(address, RedisOptions::default(), tls).map_err(|error| error.to_string())
    };
    let said = |address: &str, tls: &RedisTls| match open(address, tls) {
        Ok(store) => store.get("k").map_or_else(|error| error.to_string(), |_| "an answer".to_owned()),
        Err(error) => error,
    };
    let (name, number) = (format!("rediss://localhost:{port}/"), format!("rediss://127.0.0.1:{port}/"));
    let running = start("no");
    let kept = StoredContext { context_id: Some("c".to_owned()), task_id: None };
    let store = open(&name, &tls("root.crt", false)).unwrap();
    store.set("k", &kept).unwrap();
    assert_eq!(store.get("k").unwrap(), Some(kept.clone()));
    // the same store, in the clear
    let plain = RedisContextStore::open(&running.url(), RedisOptions::default()).unwrap();
    assert_eq!(plain.get("k").unwrap(), Some(kept.clone()));
    for (address, tls, expected) in [
        (&name, tls("stranger.crt", false), "UnknownIssuer"),
        (&name, RedisTls::default(), "UnknownIssuer"),
        (&number, tls("root.crt", false), "certificate not valid for name"),
        (&name, tls("empty", false), "holds no certificate"),
        (&name, tls("missing", false), "cannot be read"),
        (&running.url(), tls("root.crt", false), ""),
        (&format!("{name}#insecure"), tls("root.crt", false), "`#insecure` is not taken"),
        (&format!("rediss://localhost:{}/", running.port()), tls("root.crt", false), "not available"),
    ] {
        let found = said(address, &tls);
        assert!(found != "an answer" && found.contains(expected), "{address}: {found}");
    }
    let by_default = RedisContextStore::open(&name, RedisOptions::default()).unwrap();
    assert!(
        by_default.get("k").unwrap_err().to_string().contains("UnknownIssuer"),
        "the system does not know it"
    );
    assert!(RedisContextStore::open(&format!("{name}#insecure"), RedisOptions::default()).is_err());
    // a connection that was lost comes back as it was
    running.stop(Stop::Kill);
    assert!(store.get("k").is_err());
    running.start_again();
    assert!(store.set("k", &kept).is_ok() && store.get("k").unwrap() == Some(kept.clone()));
    running.stop(Stop::Fast);

    let _running = start("yes");
    assert_ne!(said(&name, &tls("root.crt", false)), "an answer");
    assert_eq!(said(&name, &tls("root.crt", true)), "an answer");
}
