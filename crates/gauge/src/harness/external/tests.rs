//! The command line of an external transport is split as a shell would, without one.

use super::words;

#[test]
fn words_split_at_white_space_and_quotes_keep_it() {
    for (command, expected) in [
        ("peer", vec!["peer"]),
        ("  peer  --fast ", vec!["peer", "--fast"]),
        ("peer 'a b' \"c d\"e", vec!["peer", "a b", "c de"]),
        ("peer ''", vec!["peer", ""]),
    ] {
        assert_eq!(words(command).expect(command), expected);
    }
}

#[test]
fn an_empty_or_unclosed_command_is_refused() {
    assert!(words("   ").is_err());
    assert!(words("peer 'a").expect_err("open quote").contains("not closed"));
}
