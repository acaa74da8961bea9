use super::*;

#[test]
fn lines_are_no_longer_than_the_width() {
    let text = "a verdict of some words and_one_word_that_is_longer_than_any_line and a number 12 %";
    for width in 10..80 {
        let wrapped = wrap(text, width, 2);
        assert!(wrapped.lines().all(|line| width_of(line) <= width), "{width}:\n{wrapped}");
        let bare = |text: &str| text.split_whitespace().collect::<String>();
        assert_eq!(bare(&wrapped), bare(text));
    }
}

#[test]
fn lines_after_the_first_are_indented() {
    assert_eq!(wrap("one two three", 7, 2), "one two\n  three");
    assert_eq!(wrap("one two three", 8, 0), "one two\nthree");
    assert_eq!(wrap("", 8, 0), "");
}

#[test]
fn a_number_stays_with_its_unit() {
    assert_eq!(wrap("it costs 12 us.", 12, 0), "it costs\n12 us.");
    assert_eq!(wrap("it costs us", 10, 0), "it costs\nus");
}

#[test]
fn marks_have_no_width() {
    assert_eq!(wrap(&format!("{} word", crate::style::strong("bold")), 9, 0).lines().count(), 1);
}

#[test]
fn lists_read_as_words() {
    assert_eq!(list::<&str>(&[]), "");
    assert_eq!(list(&["a"]), "a");
    assert_eq!(list(&["a", "b"]), "a and b");
    assert_eq!(list(&["a", "b", "c"]), "a, b and c");
    assert_eq!(short_list(&["a", "b", "c", "d"], 3), "a, b, c and d");
    assert_eq!(short_list(&["a", "b", "c", "d", "e"], 3), "a, b, c and 2 others");
    assert_eq!((plural(1, "row"), plural(0, "row")), ("1 row".to_owned(), "0 rows".to_owned()));
}

#[test]
fn lines_are_broken_between_parts_if_they_fit() {
    let parts = ["one two", "three four", "a part that is longer than a line"].map(str::to_owned);
    assert_eq!(wrap_parts(&parts, " | ", 80, 2), "one two | three four | a part that is longer than a line");
    assert_eq!(wrap_parts(&parts[..2], " | ", 14, 2), "one two\n  three four");
    let narrow = wrap_parts(&parts, " | ", 14, 2);
    assert!(narrow.lines().all(|line| width_of(line) <= 14), "{narrow}");
}

#[test]
fn a_command_line_can_be_typed_again() {
    let words = ["headwater", "run", "pipe*", "--variant", "rt=chrt -f 10", "it's", ""].map(str::to_owned);
    assert_eq!(command_line(&words), r"headwater run 'pipe*' --variant 'rt=chrt -f 10' 'it'\''s' ''");
}
