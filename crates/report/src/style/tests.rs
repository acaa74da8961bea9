use super::*;

const PLAIN: Style = Style { colour: false, width: 80, unicode: true };

#[test]
fn marks_become_escape_sequences_or_nothing() {
    let page = format!("{} {} {}\n", strong("a"), best("b"), quiet("c"));
    assert_eq!(finish(&page, &PLAIN), "a b c\n");
    let coloured = finish(&page, &Style { colour: true, ..PLAIN });
    assert_eq!(coloured, "\x1b[1ma\x1b[0m \x1b[1;32mb\x1b[0m \x1b[2mc\x1b[0m\n");
    assert_eq!(width_of(&page), 6);
}

#[test]
fn every_line_is_marked_separately() {
    let page = finish(&quiet("a\nb"), &Style { colour: true, ..PLAIN });
    assert_eq!(page, "\x1b[2ma\x1b[0m\n\x1b[2mb\x1b[0m");
}

#[test]
fn control_characters_of_a_run_never_reach_the_terminal() {
    for colour in [false, true] {
        let page = finish("a\x1b[31mb\r\u{9b}c", &Style { colour, ..PLAIN });
        assert_eq!(page, "a?[31mb??c");
    }
    assert_eq!(plain("a\x07"), "a?");
}
