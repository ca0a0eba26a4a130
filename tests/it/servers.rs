//! Redis and Postgres as the tests need them: real servers on private ports, their data in a folder below the system's
//! temporary one, stopped and started again on demand. They end with the test process, however that ends: a shell waits
//! for the end of its standard input, then kills the server and removes the folder. `tests/run` installs what is needed.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How a server ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It ends its sessions and writes what it has.
    Fast,
    /// It is killed, and recovers when it is started again.
    Kill,
}

/// A Postgres cluster of its own; the user `postgres` needs no password.
pub struct PostgresServer {
    files: ServerFiles,
    binaries: PathBuf,
    databases: AtomicU64,
    /// What it is told besides, `{folder}` being its folder.
    settings: String,
}

/// A Redis server that writes each change to a file before it answers: a change that was answered outlives a kill.
pub struct RedisServer {
    files: ServerFiles,
    /// What it is told besides, `{folder}` being its folder.
    settings: String,
}

/// What every server has: a port, a folder, and who cleans up.
struct ServerFiles {
    port: u16,
    folder: PathBuf,
    _undertaker: Child,
}

impl PostgresServer {
    /// The cluster that tests share which do not stop it; each takes a database of its own.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<PostgresServer> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    /// A new cluster, running.
    pub fn start() -> Self {
        let server = Self::made("");
        server.start_again();
        server
    }

    /// A new cluster with files in its folder, settings that may name them, and rules about who may come in how; running.
    pub fn start_with(files: &[(&str, &str)], settings: &str, rules: &str) -> Self {
        let server = Self::made(settings);
        for (name, text) in files {
            server.put(name, text);
        }
        server.put("data/pg_hba.conf", rules);
        server.start_again();
        server
    }

    /// Writes a file into its folder, which nobody but the server may read.
    pub fn put(&self, name: &str, text: &str) {
        let file = self.files.folder.join(name);
        fs::write(&file, text).unwrap();
        done("chmod", Command::new("chmod").arg("600").arg(&file));
        if is_root() {
            done("chown", Command::new("chown").arg("postgres:").arg(&file));
        }
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.files.port
    }

    /// A new cluster that does not run yet.
    fn made(settings: &str) -> Self {
        let binaries = postgres_binaries();
        let undertaker = format!(
            "{as_postgres}{binaries}/pg_ctl -D \"$0/data\" -m immediate stop",
            as_postgres = as_postgres().join(" "),
            binaries = format_args!(" {}", binaries.display()),
        );
        let files = ServerFiles::new("postgres", &undertaker);
        if is_root() {
            done("chown", Command::new("chown").arg("postgres:").arg(&files.folder));
        }
        let settings = settings.to_owned();
        let server = Self { files, binaries, databases: AtomicU64::new(0), settings };
        let data = server.files.folder.join("data");
        done(
            "initdb",
            server
                .command("initdb")
                .args(["-A", "trust", "-U", "postgres", "-E", "UTF8", "-N", "-k", "-D"])
                .arg(data),
        );
        server
    }

    /// A database that holds nothing yet, by its connection string.
    pub fn database(&self) -> String {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        let mut client = postgres::Client::connect(&self.url("postgres"), postgres::NoTls).unwrap();
        client.batch_execute(&format!("CREATE DATABASE {name}")).unwrap();
        self.url(&name)
    }

    /// The connection string of a database.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.files.port)
    }

    /// Ends the server.
    pub fn stop(&self, how: Stop) {
        let mode = if how == Stop::Fast { "fast" } else { "immediate" };
        done("pg_ctl stop", self.control().args(["-w", "-m", mode, "stop"]));
    }

    /// Starts the server that was stopped, and waits until it answers.
    pub fn start_again(&self) {
        let Self { files: ServerFiles { port, folder, .. }, .. } = self;
        let settings = format!(
            "-p {port} -h 127.0.0.1 -k {} -c shared_buffers=16MB -c max_connections=200 {}",
            folder.display(),
            self.settings.replace("{folder}", &folder.display().to_string())
        );
        let log = folder.join("log");
        done(
            "pg_ctl start",
            self.control().args(["-w", "-t", "120", "-o", &settings, "-l"]).arg(log).arg("start"),
        );
    }

    fn control(&self) -> Command {
        let mut command = self.command("pg_ctl");
        command.arg("-D").arg(self.files.folder.join("data"));
        command
    }

    fn command(&self, binary: &str) -> Command {
        let binary = self.binaries.join(binary);
        let mut command = match as_postgres().split_first() {
            Some((first, rest)) => {
                let mut command = Command::new(first);
                command.args(rest).arg(binary);
                command
            }
            None => Command::new(binary),
        };
        command.current_dir("/");
        command
    }
}

impl RedisServer {
    /// A new server, running.
    pub fn start() -> Self {
        Self::start_with(&[], "")
    }

    /// The same with files in its folder, and settings that may name them.
    pub fn start_with(files: &[(&str, &str)], settings: &str) -> Self {
        needs(found("redis-server"), "redis-server");
        let undertaker = "kill -9 $(cat \"$0/pid\")";
        let server = Self { files: ServerFiles::new("redis", undertaker), settings: settings.to_owned() };
        for (name, text) in files {
            fs::write(server.files.folder.join(name), text).unwrap();
        }
        server.start_again();
        server
    }

    /// The address as clients take it.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.files.port)
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.files.port
    }

    /// Ends the server.
    pub fn stop(&self, how: Stop) {
        let pid = fs::read_to_string(self.files.folder.join("pid")).unwrap();
        match how {
            Stop::Fast => drop(self.ask("SHUTDOWN SAVE\r\n")),
            Stop::Kill => done("kill", Command::new("kill").args(["-9", pid.trim()])),
        }
        wait("redis-server to end", || TcpStream::connect(("127.0.0.1", self.files.port)).is_err());
        let process = PathBuf::from("/proc").join(pid.trim());
        wait("redis-server to be gone", || !process.exists() || is_zombie(&process));
    }

    /// Starts the server that was stopped, and waits until it answers.
    pub fn start_again(&self) {
        let ServerFiles { port, folder, .. } = &self.files;
        // with `appendfsync everysec` a change waits in memory for as long as the file is being synced, on a slow disk for
        // seconds, and a kill loses it; the system keeps what was written, synced or not
        let settings = format!(
            "port {port}\nbind 127.0.0.1\ndaemonize yes\ndir {folder}\npidfile {folder}/pid\nlogfile {folder}/log\n\
             appendonly yes\nappendfsync no\nsave \"\"\n{more}\n",
            folder = folder.display(),
            more = self.settings.replace("{folder}", &folder.display().to_string())
        );
        let file = folder.join("redis.conf");
        fs::write(&file, settings).unwrap();
        done("redis-server", Command::new("redis-server").arg(file));
        wait("redis-server to answer", || {
            self.ask("PING\r\n").is_some_and(|answer| answer.starts_with("+PONG"))
        });
    }

    /// Sends a command as one line; the beginning of what comes back.
    fn ask(&self, line: &str) -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.files.port)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
        stream.write_all(line.as_bytes()).ok()?;
        let mut answer = [0; 64];
        let length = stream.read(&mut answer).ok()?;
        Some(String::from_utf8_lossy(&answer[..length]).into_owned())
    }
}

impl ServerFiles {
    /// A free port, a new folder, and a shell that runs `end` with the folder as `$0` when this process is gone.
    fn new(name: &str, end: &str) -> Self {
        let folder = tempfile::Builder::new().prefix(&format!("celador-{name}-")).tempdir().unwrap().keep();
        let script = format!("read -r _; {end} >/dev/null 2>&1; rm -rf \"$0\"");
        let undertaker = Command::new("sh")
            .args(["-c", &script])
            .arg(&folder)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self { port: free_port(), folder, _undertaker: undertaker }
    }
}

/// A port of 127.0.0.1 that nobody listens on, and that stays free while the server on it is stopped: it is given once in this
/// process, and lies below the ports from which the system takes one for a connection or a listener that asks for any.
pub fn free_port() -> u16 {
    const PORTS: std::ops::Range<u16> = 10_000..30_000;
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // processes side by side begin at different ports
    let begin = u16::try_from(std::process::id() % 20).unwrap() * 1_000;
    loop {
        let turn = NEXT.fetch_add(1, Ordering::Relaxed);
        assert!(turn < 1_000, "a thousand ports were taken or given");
        let port = PORTS.start + (begin + turn) % PORTS.len() as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// Postgres does not run for root: then it runs for the user that its package made.
fn as_postgres() -> &'static [&'static str] {
    if is_root() { &["runuser", "-u", "postgres", "--"] } else { &[] }
}

fn is_root() -> bool {
    static ROOT: OnceLock<bool> = OnceLock::new();
    *ROOT.get_or_init(|| {
        let output = Command::new("id").arg("-u").output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim() == "0"
    })
}

/// Where the newest server of Debian's packages is, or that on the path.
fn postgres_binaries() -> PathBuf {
    let mut folders: Vec<PathBuf> = fs::read_dir("/usr/lib/postgresql")
        .map(|entries| entries.map(|entry| entry.unwrap().path().join("bin")).collect())
        .unwrap_or_default();
    folders.retain(|folder| folder.join("initdb").exists());
    folders.sort();
    let folder = folders.pop().or_else(|| Some(found("initdb")?.parent()?.to_owned()));
    needs(folder, "postgresql")
}

/// A program on the path.
fn found(binary: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(binary)).find(|file| file.exists())
}

fn needs<T>(found: Option<T>, package: &str) -> T {
    found.unwrap_or_else(|| {
        panic!("this test needs Debian's package `{package}`: run `tests/run`, which installs it, or install it yourself")
    })
}

/// Runs a command to its end, which must be good.
fn done(what: &str, command: &mut Command) {
    // a daemon would hold a pipe open: what it says goes into a file
    let mut said = tempfile::tempfile().unwrap();
    let outputs = [said.try_clone().unwrap(), said.try_clone().unwrap()];
    let [out, err] = outputs.map(Stdio::from);
    let status = command.stdin(Stdio::null()).stdout(out).stderr(err).status().unwrap();
    if !status.success() {
        let mut text = String::new();
        std::io::Seek::rewind(&mut said).unwrap();
        said.read_to_string(&mut text).unwrap();
        panic!("{what}: {status}\n{text}");
    }
}

fn wait(what: &str, mut until: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !until() {
        assert!(begun.elapsed() < Duration::from_secs(60), "waited a minute for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn is_zombie(process: &Path) -> bool {
    fs::read_to_string(process.join("stat")).map_or(true, |stat| stat.contains(") Z "))
}

#[test]
fn servers_stop_and_start_again_with_what_they_had() {
    let postgres = PostgresServer::start();
    let url = postgres.database();
    let connect = || postgres::Client::connect(&url, postgres::NoTls);
    connect().unwrap().batch_execute("CREATE TABLE kept (n BIGINT)").unwrap();
    for (round, how) in [Stop::Fast, Stop::Kill].into_iter().enumerate() {
        connect().unwrap().batch_execute("INSERT INTO kept VALUES (1)").unwrap();
        postgres.stop(how);
        assert!(connect().is_err());
        postgres.start_again();
        let count: i64 = connect().unwrap().query_one("SELECT count(*) FROM kept", &[]).unwrap().get(0);
        assert_eq!(count, round as i64 + 1);
    }
    let redis = RedisServer::start();
    assert!(redis.url().contains(&redis.port().to_string()));
    assert_eq!(redis.ask("SET kept 1\r\n").unwrap(), "+OK\r\n");
    for how in [Stop::Fast, Stop::Kill] {
        redis.stop(how);
        assert!(redis.ask("PING\r\n").is_none());
        redis.start_again();
        assert_eq!(redis.ask("GET kept\r\n").unwrap(), "$1\r\n1\r\n");
    }
}
