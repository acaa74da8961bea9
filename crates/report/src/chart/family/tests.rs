use super::{look, name};

#[test]
fn a_family_has_one_colour_and_its_members_differ_in_the_marker() {
    for (one, other) in [("pipe", "fifo"), ("udp", "udp-gso"), ("streams-pipe", "streams-fifo"), ("tcp", "tcp-nagle")] {
        assert_eq!(name(one), name(other));
        assert_eq!(look(one).colour, look(other).colour, "{one} {other}");
        assert_ne!(look(one).shape, look(other).shape, "{one} {other}");
    }
    let colours: Vec<usize> = ["pipe", "unix-stream", "tcp", "udp", "posix-mq", "streams-pipe", "ring-spin"]
        .map(|one| look(one).colour)
        .into();
    let mut distinct = colours.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), colours.len(), "{colours:?}");
}

#[test]
fn the_longest_beginning_decides() {
    assert_eq!(name("fifo-socket"), "Unix sockets");
    assert_ne!(look("streams-pipe-null4").colour, look("streams-pipe").colour, "modules have a colour of their own");
    assert_ne!(look("pty").shape, look("streams-pty").shape, "one colour for all terminals");
    assert_eq!(name("streams-pipe+4xnullmod"), "streams");
    assert_eq!(name("pipeline"), "pipeline", "a name that only begins with the same letters is no member");
    assert_eq!(name("mutex"), "mutex");
}
