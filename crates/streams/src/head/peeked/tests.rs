use std::cell::RefCell;

use crate::{ControlMode, Handle, MessageFilter, Priority, ReadOptions};

thread_local! {
    static BETWEEN: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
}

/// The action of another thread between the reader's look at the lane and its look at the store.
pub(super) fn between_looks() {
    if let Some(action) = BETWEEN.take() {
        action();
    }
}

/// A pipe whose reader finds nothing at its first look, whereupon `send` is called before its second.
fn interrupted(send: impl FnOnce(&mut Handle) + 'static) -> Handle {
    let (mut near, mut far) = crate::Options::new().pair().expect("pipe");
    far.set_nonblocking(true).expect("arm");
    far.set_read_options(ReadOptions { control: ControlMode::AsData, ..ReadOptions::default() }).expect("fine");
    assert!(far.peek(None, None, MessageFilter::Any).expect("fine").is_none());
    BETWEEN.set(Some(Box::new(move || {
        send(&mut near);
        std::mem::forget(near);
    })));
    far
}

fn ahead_and_plain(band: Option<u8>) -> impl FnOnce(&mut Handle) {
    move |near| {
        match band {
            Some(band) => near.putpmsg(Some(b"ahead"), None, band).expect("room"),
            None => near.putpmsg(Some(b"ahead"), None, Priority::High).expect("always"),
        }
        near.write(b"plain").expect("room");
    }
}

#[test]
fn what_is_sent_between_two_looks_is_found_in_its_order() {
    for band in [Some(1), Some(255), None] {
        let mut far = interrupted(ahead_and_plain(band));
        let mut got = Vec::new();
        while got.len() < 2 {
            let (mut control, mut data) = ([0; 5], [0; 5]);
            // The look that is interrupted may or may not find it.
            if let Ok(found) = far.getmsg(Some(&mut control), Some(&mut data)) {
                got.push(if found.control.is_some() { control } else { data });
            }
        }
        assert_eq!(got, [*b"ahead", *b"plain"], "band {band:?}");
    }
}
