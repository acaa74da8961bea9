use super::*;

fn allowed() -> Allowed {
    let text = r#"
        graph = { targets = [] }
        licenses = { allow = ["MIT", "Apache-2.0 WITH LLVM-exception"] }
        sources = { allow-registry = ["https://one"] }
        bans = { skip = [{ crate = "old@1.0.0", reason = "another needs it" }] }
    "#;
    Allowed::read(text).expect("it is whole")
}

#[test]
fn a_licence_is_allowed_if_one_may_choose_allowed_ones_alone() {
    let Allowed { licences, .. } = allowed();
    for expression in [
        "MIT",
        "GPL-3.0 OR MIT",
        "Unlicense/MIT",
        "MIT AND (GPL-3.0 OR MIT)",
        "GPL-3.0 AND GPL-2.0 OR MIT",
        "Apache-2.0 WITH LLVM-exception",
    ] {
        assert!(allows(expression, &licences), "{expression}");
    }
    for expression in [
        "",
        "GPL-3.0",
        "MIT AND GPL-3.0",
        "(MIT OR GPL-3.0) AND GPL-3.0",
        "Apache-2.0",
        "MIT WITH x",
        "(MIT",
        "MIT MIT",
    ] {
        assert!(!allows(expression, &licences), "{expression}");
    }
}

#[test]
fn strange_sources_and_second_versions_are_named() {
    let package = |name: &str, version: &str, source: &str| Package {
        name: name.into(),
        version: version.into(),
        licence: "MIT".into(),
        source: (!source.is_empty()).then(|| source.into()),
    };
    let (allowed, one) = (allowed(), "registry+https://one");
    let mut unused = allowed.skipped.clone();
    let sound = [package("own", "0.1.0", ""), package("old", "1.0.0", one), package("old", "2.0.0", one)];
    assert_eq!(allowed.check(&sound, &mut unused), Vec::<String>::new());
    assert!(unused.is_empty());
    let wrong = [
        package("git", "1.0.0", "git+https://two"),
        package("other", "1.0.0", "registry+https://two"),
        package("twice", "1.0.0", one),
        package("twice", "2.0.0", one),
    ];
    let found = allowed.check(&wrong, &mut unused);
    assert_eq!(found.len(), 3, "{found:#?}");
    assert!(found[2].starts_with("twice 1.0.0 and 2.0.0: "), "{found:#?}");
}

#[test]
fn a_skip_has_a_reason() {
    let text = "graph = { targets = [] }\nlicenses = { allow = [] }\nsources = { allow-registry = [] }\nbans = { skip = [{ crate = \"a@1\" }] }";
    assert!(Allowed::read(text).expect_err("no reason").to_string().contains("without `reason`"));
}
