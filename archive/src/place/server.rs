//! A PostgreSQL server: its name, its password, its certificate.
//!
//! A connection that leaves the machine is encrypted, and the server's certificate is checked, unless `sslmode=disable`
//! says otherwise: libpq's default would send runs to whatever answers.

use std::env;
use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use futures_util::future::BoxFuture;
use headwater_os::plain_file;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, Error, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::database::limited::{Limited, LimitedTls};

/// How long a server that does not answer is waited for.
const CONNECT: Duration = Duration::from_secs(10);

/// PostgreSQL's usual port.
const PORT: u16 = 5432;

/// Moves the bytes of a connection until it ends.
pub type Moving = BoxFuture<'static, Result<(), Error>>;

/// A server.
#[derive(Clone)]
pub struct Server {
    config: Config,
    /// The name without a password.
    name: String,
    /// The file of certificates that the server's must be signed by, instead of the system's.
    root: Option<PathBuf>,
    is_plain: bool,
}

impl fmt::Display for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)
    }
}

impl Server {
    /// Returns the server that a name of the form `postgres://[USER@]HOST[:PORT]/DATABASE` means. What the name leaves
    /// open comes from PGUSER, PGHOST, PGPORT, PGDATABASE, PGPASSWORD, PGPASSFILE and PGSSLROOTCERT, as for psql.
    ///
    /// # Errors
    /// For a name that is none, and for a password in a name that others can read.
    pub fn named(name: &str, source: &str, may_hold_password: bool) -> anyhow::Result<Server> {
        let (clean, root, mode) = without_own_parameters(name);
        // The text may hold a password: it is not repeated.
        let mut config = Config::from_str(&clean).map_err(|error| {
            let cause = std::error::Error::source(&error).map_or(String::new(), |cause| format!(": {cause}"));
            anyhow!("{source}: it does not name a PostgreSQL database{cause}; the form is postgres://USER@HOST:PORT/DATABASE")
        })?;
        if config.get_password().is_some() && !may_hold_password {
            bail!(
                "{source}: there is a password in it, which every user of this machine can read in a command line; \
                 put it into ~/.pgpass (HOST:PORT:DATABASE:USER:PASSWORD, mode 600), PGPASSWORD or {}",
                super::VARIABLE
            );
        }
        let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        if config.get_hosts().is_empty() {
            match variable("PGHOST") {
                Some(host) => config.host(&host),
                None => config.host("/var/run/postgresql"),
            };
        }
        if let (true, Some(port)) = (config.get_ports().is_empty(), variable("PGPORT")) {
            config.port(port.parse().with_context(|| format!("PGPORT is {port:?}, no port"))?);
        }
        if let (None, Some(user)) = (config.get_user(), variable("PGUSER")) {
            config.user(&user);
        }
        if let (None, Some(database)) = (config.get_dbname(), variable("PGDATABASE")) {
            config.dbname(&database);
        }
        let name = without_password(name);
        if config.get_password().is_none() {
            if let Some(password) = variable("PGPASSWORD") {
                config.password(password);
            } else if let Some(password) = password_of_file(&config)? {
                config.password(password);
            }
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        config.application_name("headwater-archive");
        let is_plain = match mode.as_deref() {
            Some("disable") => true,
            Some("require" | "verify-ca" | "verify-full") | None => false,
            Some(other) => bail!("{source}: sslmode={other} is not known; verify-full (the default) and disable are"),
        };
        let root = root.or_else(|| variable("PGSSLROOTCERT")).map(PathBuf::from);
        Ok(Server { config, name, root, is_plain })
    }

    /// Connects to the first of its hosts that answers. The caller limits the time of it all.
    ///
    /// # Errors
    /// The server's name, the cause and the remedy.
    pub async fn connect(&self) -> anyhow::Result<(Client, Moving)> {
        let hosts = self.config.get_hosts();
        let is_local = hosts.iter().all(|host| matches!(host, Host::Unix(_)));
        let tls = if is_local || self.is_plain { None } else { Some(self.tls()?) };
        let mut failed = None;
        for (at, host) in hosts.iter().enumerate() {
            let ports = self.config.get_ports();
            let port = ports.get(at).or(ports.first()).copied().unwrap_or(PORT);
            match self.connect_to(host, port, tls.as_ref()).await {
                Ok(connected) => return Ok(connected),
                // The server's own answer says more than that another host does not answer.
                Err(error) if failed.is_none() || is_answer(&error) => failed = Some(error),
                Err(_) => {}
            }
        }
        Err(failed.unwrap_or_else(|| anyhow!("{self}: it names no host")))
    }

    async fn connect_to(&self, host: &Host, port: u16, tls: Option<&ClientConfig>) -> anyhow::Result<(Client, Moving)> {
        let failed = || format!("{self}: no connection (check the name, and that the server runs)");
        let limit = self.config.get_connect_timeout().copied().unwrap_or(CONNECT);
        let begun = |error: Error| {
            let remedy = remedy(&error);
            anyhow::Error::new(error).context(format!("{self}: no connection{remedy}"))
        };
        let mut config = self.config.clone();
        match host {
            Host::Unix(directory) => {
                let socket = directory.join(format!(".s.PGSQL.{port}"));
                let stream =
                    timeout(limit, UnixStream::connect(socket)).await.with_context(failed)?.with_context(failed)?;
                config.ssl_mode(SslMode::Disable);
                let (client, moving) = config.connect_raw(Limited::new(stream), NoTls).await.map_err(begun)?;
                Ok((client, Box::pin(moving)))
            }
            Host::Tcp(name) => {
                let stream = TcpStream::connect((name.as_str(), port));
                let stream = timeout(limit, stream).await.with_context(failed)?.with_context(failed)?;
                stream.set_nodelay(true).with_context(failed)?;
                match tls {
                    Some(tls) => {
                        config.ssl_mode(SslMode::Require);
                        let mut make = MakeRustlsConnect::new(tls.clone());
                        let tls =
                            MakeTlsConnect::<TcpStream>::make_tls_connect(&mut make, name).with_context(failed)?;
                        let (client, moving) = config.connect_raw(stream, LimitedTls(tls)).await.map_err(begun)?;
                        Ok((client, Box::pin(moving)))
                    }
                    None => {
                        config.ssl_mode(SslMode::Disable);
                        let (client, moving) = config.connect_raw(Limited::new(stream), NoTls).await.map_err(begun)?;
                        Ok((client, Box::pin(moving)))
                    }
                }
            }
        }
    }

    fn tls(&self) -> anyhow::Result<ClientConfig> {
        let found = match &self.root {
            Some(file) => rustls_native_certs::load_certs_from_paths(Some(file), None),
            None => rustls_native_certs::load_native_certs(),
        };
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            let from = self.root.as_ref().map_or("this system's store".to_owned(), |file| file.display().to_string());
            bail!(
                "{self}: no certificate to check the server's by in {from}; sslrootcert=FILE or PGSSLROOTCERT names them, \
                 and ?sslmode=disable does without encryption"
            );
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        Ok(builder.with_root_certificates(roots).with_no_client_auth())
    }
}

/// Whether an error was sent by a server.
fn is_answer(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Error>().is_some_and(|error| error.code().is_some())
}

/// What a user can do about a connection that was refused.
fn remedy(error: &Error) -> &'static str {
    match error.code().map(tokio_postgres::error::SqlState::code) {
        Some("28P01" | "28000") => " (the user, or the password of ~/.pgpass or PGPASSWORD, is wrong)",
        Some("3D000") => " (`createdb` makes the database)",
        Some("53300") => " (too many connections: it is tried again)",
        Some(_) => "",
        None => " (check the name, and that the server runs)",
    }
}

/// Takes the parameters that are read here out of the name: `sslrootcert` and `sslmode`.
fn without_own_parameters(name: &str) -> (String, Option<String>, Option<String>) {
    let Some((base, parameters)) = name.split_once('?') else { return (name.to_owned(), None, None) };
    let (mut root, mut mode, mut others) = (None, None, Vec::new());
    for parameter in parameters.split('&') {
        match parameter.split_once('=') {
            Some(("sslrootcert", value)) => root = Some(decoded(value)),
            Some(("sslmode", value)) => mode = Some(value.to_owned()),
            _ => others.push(parameter),
        }
    }
    let others = others.join("&");
    (if others.is_empty() { base.to_owned() } else { format!("{base}?{others}") }, root, mode)
}

/// Replaces `%2F` and the like.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        if let Some(byte) = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            out.push(byte);
            at += 3;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Returns the name without its password, as part of the address or as a parameter.
fn without_password(name: &str) -> String {
    let (base, parameters) = name.split_once('?').map_or((name, None), |(base, rest)| (base, Some(rest)));
    let (scheme, rest) = base.split_once("://").unwrap_or(("postgres", base));
    let rest = match rest.rsplit_once('@') {
        Some((user, host)) => format!("{}@{host}", user.split(':').next().unwrap_or_default()),
        None => rest.to_owned(),
    };
    let kept: Vec<&str> = parameters
        .into_iter()
        .flat_map(|parameters| parameters.split('&'))
        .filter(|parameter| !parameter.starts_with("password="))
        .collect();
    format!("{scheme}://{rest}{}{}", if kept.is_empty() { "" } else { "?" }, kept.join("&"))
}

/// Returns the password of `~/.pgpass` or PGPASSFILE for this server, by psql's rules: the first line that fits, and no
/// file that others can read.
fn password_of_file(config: &Config) -> anyhow::Result<Option<String>> {
    let usual = || Some(PathBuf::from(env::var_os("HOME")?).join(".pgpass"));
    let Some(path) = env::var_os("PGPASSFILE").map(PathBuf::from).or_else(usual) else { return Ok(None) };
    let Ok(metadata) = fs::metadata(&path) else { return Ok(None) };
    if metadata.permissions().mode() & 0o077 != 0 {
        bail!("{}: other users can read it, so it is not used; `chmod 600` it", path.display());
    }
    /// The most bytes of a file of passwords.
    const BYTES_MAX: u64 = 1 << 20;
    let text = plain_file::read_text(&path, BYTES_MAX).with_context(|| path.display().to_string())?;
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(host)) => host.clone(),
        Some(Host::Unix(directory)) if directory != Path::new("/var/run/postgresql") => {
            directory.to_string_lossy().into_owned()
        }
        _ => "localhost".to_owned(),
    };
    let port = config.get_ports().first().map_or("5432".to_owned(), u16::to_string);
    let user = config.get_user().unwrap_or_default();
    let wanted = [&host, &port, config.get_dbname().unwrap_or(user), user];
    Ok(password_of_lines(&text, wanted))
}

fn password_of_lines(text: &str, wanted: [&str; 4]) -> Option<String> {
    let fits = |line: &str| {
        let fields = fields(line);
        let [parts @ .., password] = fields.as_slice() else { return None };
        let is_meant = parts.len() == 4 && parts.iter().zip(wanted).all(|(part, wanted)| part == "*" || part == wanted);
        is_meant.then(|| password.clone())
    };
    text.lines().filter(|line| !line.starts_with('#')).find_map(fits)
}

/// Splits a line at colons; a backslash keeps the character behind it.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        let last = fields.last_mut().expect("there is always one");
        match character {
            ':' => fields.push(String::new()),
            '\\' => last.extend(characters.next()),
            other => last.push(other),
        }
    }
    fields
}

#[cfg(test)]
mod tests;
