use super::*;

#[test]
fn a_password_on_the_command_line_is_refused_and_never_printed() {
    for name in
        ["postgres://u:secret@db/x", "postgres://u@db/x?password=secret", "postgres://u:secret@db/x?sslmode=disable"]
    {
        let refused = Server::named(name, "--archive", false).expect_err("refused").to_string();
        assert!(refused.contains(".pgpass") && !refused.contains("secret"), "{refused}");
        let server = Server::named(name, "HEADWATER_ARCHIVE", true).expect("the environment is private");
        assert!(!format!("{server} {server:?}").contains("secret"), "{server}");
        assert_eq!(server.config.get_password(), Some("secret".as_bytes()));
    }
    let wrong = Server::named("postgres://u:secret@db:no/x", "HEADWATER_ARCHIVE", true).expect_err("no port");
    assert!(!format!("{wrong:#}").contains("secret"), "{wrong:#}");
}

#[test]
fn the_first_line_of_the_file_that_fits_has_the_password() {
    let text = "# a comment\nother:5432:runs:me:no\ndb:*:runs:me:a\\:b\\\\c\n*:*:*:*:last";
    assert_eq!(password_of_lines(text, ["db", "5433", "runs", "me"]).as_deref(), Some("a:b\\c"));
    assert_eq!(password_of_lines(text, ["db", "5433", "runs", "you"]).as_deref(), Some("last"));
    assert_eq!(password_of_lines("db:5432:runs:me", ["db", "5432", "runs", "me"]), None);
}

#[test]
fn certificates_are_checked_unless_encryption_is_off() {
    let of = |name: &str| Server::named(name, "--archive", false).map(|server| (server.is_plain, server.root));
    assert_eq!(of("postgres://db/x").expect("a name"), (false, None));
    assert_eq!(of("postgres://db/x?sslmode=disable").expect("a name"), (true, None));
    let root = Some(PathBuf::from("/a b"));
    assert_eq!(of("postgres://db/x?sslmode=verify-full&sslrootcert=%2Fa%20b").expect("a name"), (false, root));
    assert!(of("postgres://db/x?sslmode=prefer").is_err(), "it would do without encryption in silence");
}
