//! A PostgreSQL for the tests, in a private directory, reached by a socket there. It ends with the test program.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use postgres::{Client, NoTls};
use tempfile::TempDir;

/// A server that runs.
pub struct Server {
    directory: TempDir,
    child: Child,
    databases: AtomicU32,
    /// The port of its socket's name.
    port: u16,
}

/// PostgreSQL's usual port.
pub const PORT: u16 = 5432;

/// The user that owns the server if the tests run as root, for whom PostgreSQL does not start.
const USER: &str = "postgres";

impl Server {
    /// Returns the server of this test program; `None` if no PostgreSQL is installed, which is said once.
    pub fn shared() -> Option<&'static Server> {
        static SERVER: OnceLock<Option<Server>> = OnceLock::new();
        SERVER.get_or_init(|| Server::with_files("", PORT, &[])).as_ref()
    }

    /// Starts a server with lines of configuration and files of its own.
    pub fn with_files(configuration: &str, port: u16, files: &[(&str, &[u8])]) -> Option<Server> {
        let Some(programs) = programs() else {
            // Past the capture of a test's output.
            let said = b"\nSKIPPED: no PostgreSQL here (Debian's package postgresql): nothing is tested on it\n\n";
            std::io::stderr().write_all(said).expect("standard error");
            return None;
        };
        let directory = TempDir::new().expect("a temporary directory");
        let data = directory.path().join("data");
        fs::create_dir(&data).expect("a directory");
        if is_root() {
            let owner = format!("{USER}:");
            let owned = Command::new("chown").arg(owner).args([directory.path(), &data]).status();
            assert!(owned.expect("chown starts").success(), "the server's directory has its owner");
        }
        let made = as_owner(&programs.join("initdb"))
            .args(["--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--username=postgres", "-D"])
            .arg(&data)
            .stdout(Stdio::null())
            .status();
        assert!(made.expect("initdb starts").success(), "a cluster is made");
        let socket = directory.path().display().to_string();
        let all = format!(
            "listen_addresses = ''\nunix_socket_directories = '{socket}'\nfsync = off\nmax_connections = 6\n\
             shared_buffers = 16MB\n{configuration}\n"
        );
        fs::write(data.join("postgresql.auto.conf"), all).expect("the configuration");
        for (name, content) in files {
            let file = data.join(name);
            fs::write(&file, content).expect("a file");
            if is_root() {
                let owned = Command::new("chown").arg(format!("{USER}:")).arg(&file).status();
                assert!(owned.expect("chown starts").success(), "the file has its owner");
            }
            fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("a mode");
        }
        let mut command = as_owner(&programs.join("postgres"));
        command.arg("-D").arg(&data).stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(fs::File::create(directory.path().join("log")).expect("a log"));
        // Ctrl-C is for the tests; the server ends when they have ended.
        command.process_group(0);
        let child = command.spawn().expect("the server starts");
        let server = Server { directory, child, databases: AtomicU32::new(0), port };
        let begun = Instant::now();
        while server.try_connect("postgres").is_err() {
            let log = fs::read_to_string(server.directory.path().join("log")).unwrap_or_default();
            assert!(begun.elapsed() < Duration::from_secs(60), "the server does not answer: {log}");
            std::thread::sleep(Duration::from_millis(50));
        }
        // The end of the test program does not drop what is static.
        let own = std::process::id();
        let watcher = format!(
            "(while kill -0 {own} 2>/dev/null; do sleep 0.2; done; kill -INT {} 2>/dev/null; sleep 0.5; rm -rf '{socket}') &",
            server.child.id()
        );
        let mut watch = Command::new("sh");
        watch.args(["-c", &watcher]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        watch.status().expect("a shell starts");
        Some(server)
    }

    /// Returns the directory with the socket.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Makes an empty database, and returns its name as an archive.
    pub fn database(&self) -> String {
        let name = format!("archive{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.connect("postgres").batch_execute(&format!("CREATE DATABASE {name}")).expect("a database");
        self.url(&name)
    }

    /// Returns the name of a database of this server.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@{}/{database}", text(self.directory()).replace('/', "%2F"))
    }

    pub fn connect(&self, database: &str) -> Client {
        // Others may have all its connections for a moment.
        let begun = Instant::now();
        loop {
            match self.try_connect(database) {
                Ok(client) => return client,
                Err(error) if begun.elapsed() > Duration::from_secs(60) => {
                    panic!("the server does not answer: {error}")
                }
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    fn try_connect(&self, database: &str) -> Result<Client, ::postgres::Error> {
        Client::connect(
            &format!("host={} port={} user=postgres dbname={database}", text(self.directory()), self.port),
            NoTls,
        )
    }

    /// Connects to the database of an archive's name.
    pub fn connect_to(&self, archive: &str) -> Client {
        self.connect(archive.rsplit('/').next().expect("a database"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        let _ = self.child.wait();
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a text")
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn as_owner(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid", USER, "--regid", USER, "--clear-groups"]).arg(program).current_dir("/");
    command
}

/// Returns the folder of the newest server that is installed. Debian does not put it on PATH.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?.flatten();
    let newest = versions.max_by_key(|entry| entry.file_name().to_string_lossy().parse::<u32>().unwrap_or(0))?;
    let folder = newest.path().join("bin");
    folder.join("initdb").exists().then_some(folder)
}
