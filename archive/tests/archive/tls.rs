//! PostgreSQL over TLS: the certificate is checked, and passwords come from where they are private.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use crate::support::postgres::Server;
use crate::support::sample::Sample;
use crate::support::{TestDir, expect, text};

/// Makes a certificate of an authority, and one of `localhost` that it has signed.
fn certificates(dir: &TestDir) {
    let script = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout ca.key -out ca.crt \
        -addext basicConstraints=critical,CA:TRUE && \
        openssl req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout server.key -out server.csr && \
        printf 'subjectAltName=DNS:localhost\\nbasicConstraints=CA:FALSE\\n' > extensions && \
        openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile extensions -out server.crt && \
        chmod 644 server.key";
    let output = Command::new("sh").args(["-c", script]).current_dir(dir.path("")).output().expect("a shell");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Returns a port that nothing listens on now.
fn port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

#[test]
fn the_server_s_certificate_and_the_password_are_checked() {
    let dir = TestDir::new();
    let has_openssl = Command::new("openssl").arg("version").stdout(Stdio::null()).status().is_ok();
    if !has_openssl {
        eprintln!("skipped: no openssl to make certificates");
        return;
    }
    certificates(&dir);
    let (key, certificate) = (fs::read(dir.path("server.key")), fs::read(dir.path("server.crt")));
    let (key, certificate) = (key.expect("a key"), certificate.expect("a certificate"));
    let port = port();
    let configuration = format!(
        "listen_addresses = '127.0.0.1'\nport = {port}\nssl = on\nssl_key_file = 'server.key'\nssl_cert_file = 'server.crt'\n"
    );
    let hba = "local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n";
    let files = [("server.key", &key[..]), ("server.crt", &certificate[..]), ("pg_hba.conf", hba.as_bytes())];
    let Some(server) = Server::with_files(&configuration, port, &files) else { return };
    let local = server.database();
    let database = local.rsplit('/').next().expect("a name").split('?').next().expect("a name").to_owned();
    server
        .connect(&database)
        .batch_execute("CREATE ROLE me LOGIN PASSWORD 'se:cret'; GRANT ALL ON DATABASE archive0 TO me")
        .expect("a role");
    let url = |host: &str, more: &str| format!("postgres://me@{host}:{port}/{database}{more}");
    let root = format!("?sslrootcert={}", text(&dir.path("ca.crt")).replace('/', "%2F"));
    let with_password = |archive: &str, arguments: &[&str]| {
        dir.command(archive, arguments).env("PGPASSWORD", "se:cret").output().expect("it starts")
    };
    // The authority is not one of the system's; the name is not that of the certificate; the server is asked in plain text.
    expect(&with_password(&url("localhost", ""), &["migrate"]), 2, &["no connection", "ertificate"]);
    expect(&with_password(&url("127.0.0.1", &root), &["migrate"]), 2, &["no connection", "ertificate"]);
    expect(&with_password(&url("localhost", "?sslmode=disable"), &["migrate"]), 2, &["no connection", "pg_hba"]);
    expect(&with_password(&url("localhost", &root), &["migrate"]), 0, &["an archive now"]);
    expect(
        &dir.command(&url("localhost", &root), &["list"]).env("PGPASSWORD", "wrong").output().expect("it starts"),
        2,
        &["pgpass"],
    );
    // The password of the file, which only its owner may read.
    fs::create_dir_all(dir.path("home")).expect("a directory");
    let file = dir.path("home/.pgpass");
    fs::write(&file, format!("localhost:{port}:*:me:se\\:cret\n")).expect("a file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("a mode");
    expect(&dir.archive(&url("localhost", &root), &["list"]), 2, &["chmod 600"]);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("a mode");
    let run = dir.run("one", &Sample::default().lines());
    dir.add(&url("localhost", &root), &run);
    let refused = dir
        .plain(std::path::Path::new(env!("CARGO_BIN_EXE_headwater-archive")))
        .args(["--archive", &format!("postgres://me:secret@localhost:{port}/{database}"), "list"])
        .output()
        .expect("it starts");
    let said = expect(&refused, 2, &["pgpass"]);
    assert!(!said.contains("secret"), "{said}");
}
