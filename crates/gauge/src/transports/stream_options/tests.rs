use super::*;
use crate::transports;

fn options(change: impl FnOnce(&mut StreamOptions)) -> StreamOptions {
    let mut options = StreamOptions::default();
    change(&mut options);
    options
}

#[test]
fn a_subject_is_read_as_it_was_written() {
    let all = |options: &mut StreamOptions| {
        *options = StreamOptions {
            push: Some((2, "srvmod".to_owned())),
            hold: true,
            notify: true,
            fill: true,
            hiwat: Some(65_536),
            lowat: Some(8192),
        };
    };
    for (subject, expected) in [
        ("streams-pipe", StreamOptions::default()),
        ("streams-pipe+4xnullmod", options(|options| options.push = Some((4, "nullmod".to_owned())))),
        ("streams-pipe+hold", options(|options| options.hold = true)),
        ("streams-pipe+mread", options(|options| options.notify = true)),
        ("streams-pipe+readfill", options(|options| options.fill = true)),
        ("streams-pipe+lowat=8192", options(|options| options.lowat = Some(8192))),
        ("streams-fifo+2xsrvmod+hold+mread+readfill+hiwat=65536+lowat=8192", options(all)),
    ] {
        let (transport, text) = split(subject);
        assert_eq!(StreamOptions::parse(text).as_ref(), Ok(&expected), "{subject}");
        assert_eq!(expected.subject(transport), subject);
    }
}

#[test]
fn a_word_that_is_no_option_is_named() {
    for (text, word) in [("hold+frob", "frob"), ("manyxnullmod", "manyxnullmod"), ("hiwat=lots", "hiwat=lots")] {
        let error = StreamOptions::parse(text).expect_err(text);
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn only_streams_take_options() {
    for (subject, is_known) in
        [("streams-pipe+hold", true), ("streams-fifo+4xnullmod", true), ("pipe+hold", false), ("pipe", true)]
    {
        assert_eq!(transports::find(subject).is_some(), is_known, "{subject}");
    }
}
