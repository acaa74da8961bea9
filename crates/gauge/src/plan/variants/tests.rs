//! Tests of the syntax of variants.

use super::*;

fn check(text: &str, environment: &[(&str, &str)], wrapper: &[&str], program: Option<&str>) {
    let variant = Variant::parse(text).expect(text);
    let pairs: Vec<(&str, &str)> =
        variant.environment.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    assert_eq!(pairs, environment, "{text}");
    assert_eq!(variant.wrapper, wrapper, "{text}");
    assert_eq!(variant.program.as_deref(), program, "{text}");
    assert_eq!(Variant::parse(&variant.to_string()).expect("its own text"), variant);
}

#[test]
fn variables_then_a_wrapper_then_a_program() {
    check("a=", &[], &[], None);
    check("a=  ", &[], &[], None);
    check("old=/tmp/old/headwater", &[], &[], Some("/tmp/old/headwater"));
    check("old=/tmp/headwater-0.1", &[], &[], Some("/tmp/headwater-0.1"));
    check("huge=GLIBC_TUNABLES=glibc.malloc.hugetlb=1", &[("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")], &[], None);
    check("rt=chrt -f 10", &[], &["chrt", "-f", "10"], None);
    check(
        "all=A=1 B='x y' nice -n 5 ./headwater",
        &[("A", "1"), ("B", "x y")],
        &["nice", "-n", "5"],
        Some("./headwater"),
    );
    check("late=env A=1", &[], &["env", "A=1"], None);
    check("quote=A=\"it's\"", &[("A", "it's")], &[], None);
}

#[test]
fn an_invalid_variant_is_refused() {
    for (text, expect) in
        [("plain", "NAME="), ("=x", "letters"), ("a/b=", "letters"), ("same-cpu=", "placement"), ("a='x", "quote")]
    {
        let error = Variant::parse(text).expect_err(text).to_string();
        assert!(error.contains(expect) && error.contains("--variant"), "{text}: {error}");
    }
    let twice = ["a=".to_owned(), "a=X=1".to_owned()];
    assert!(parse_all(&twice).expect_err("two of a name").to_string().contains("two"));
}

#[test]
fn a_lone_variant_is_compared_with_the_plain_program() {
    let variants = parse_all(&["rt=chrt -f 10".to_owned()]).expect("one variant");
    assert_eq!(variants.iter().map(|variant| variant.name.as_str()).collect::<Vec<_>>(), [PLAIN, "rt"]);
    assert!(parse_all(&[format!("{PLAIN}=")]).is_err());
    assert_eq!(parse_all(&[]).expect("none").len(), 0);
}
