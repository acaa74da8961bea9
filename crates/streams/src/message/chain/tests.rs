use super::super::Message;

fn linked(parts: &[&'static [u8]]) -> Message<'static> {
    let mut parts = parts.iter();
    let mut message = Message::data_of(parts.next().expect("one"));
    parts.for_each(|part| message.link(Message::data_of(part)));
    message
}

fn blocks<'m>(message: &'m Message<'_>) -> Vec<&'m [u8]> {
    message.data_blocks().collect()
}

#[test]
fn blocks_are_linked_and_taken_off_again() {
    let mut message = linked(&[b"a", b"bc", b"", b"d"]);
    assert_eq!((message.data(), message.data_len()), (Some(&b"abcd"[..]), Some(4)));
    let mut rest = message.unlink().expect("three");
    assert_eq!((blocks(&message), blocks(&rest)), (vec![&b"a"[..]], vec![&b"bc"[..], b"", b"d"]));
    let mut rest = rest.unlink().expect("two").unlink().expect("one");
    assert_eq!(rest.unlink(), None);
    assert_eq!(rest.data(), Some(&b"d"[..]));
    message.link(rest);
    assert_eq!(message.data(), Some(&b"ad"[..]), "joined anew");
}

#[test]
fn a_change_is_of_one_of_those_that_share() {
    let mut message = linked(&[b"abc", b"def"]).into_owned();
    let mut duplicate = message.duplicate();
    let addresses = |message: &Message<'_>| message.data_blocks().map(<[u8]>::as_ptr).collect::<Vec<_>>();
    assert_eq!(addresses(&message), addresses(&duplicate), "nothing is copied");
    duplicate.data_mut()[3] = b'x';
    assert_eq!((message.data(), duplicate.data()), (Some(&b"abcdef"[..]), Some(&b"abcxef"[..])));
    assert_ne!(message, duplicate);
    drop(message);
    assert_eq!(duplicate, linked(&[b"abc", b"xef"]), "equal by their bytes, however they lie");
}

#[test]
fn bytes_are_trimmed_from_either_end() {
    let mut message = linked(&[b"ab", b"cd", b"ef"]);
    assert!(!message.trim(7) && !message.trim(-7));
    assert!(message.trim(0));
    assert_eq!(message.data_blocks().count(), 3, "nothing to do is nothing done");
    assert!(message.trim(3) && message.trim(-2));
    assert_eq!(message.data(), Some(&b"d"[..]));
    assert!(message.trim(-1) && !message.trim(1));
    assert_eq!(message.data(), Some(&b""[..]));
}
