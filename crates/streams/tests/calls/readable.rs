//! FIONREAD and I_NREAD: what reads can take, and what the first message has.

use headwater_streams::{ControlMode, Options, Policy, Priority, ReadMode, ReadOptions, Stream};

const POLICIES: [Policy; 2] = [Policy::DEFAULT, Policy::EAGER];

fn pair(policy: Policy) -> (Stream, Stream) {
    let (near, far) = Options::new().policy(policy).pipe().expect("pipe");
    far.set_nonblocking(true).expect("arm");
    (near, far)
}

/// Bytes that reads take until one of them is refused.
fn read_until_refused(far: &Stream) -> usize {
    let mut buffer = [0; 7];
    std::iter::from_fn(|| far.read(&mut buffer).ok()).sum()
}

#[test]
fn all_bytes_are_counted_and_not_the_first_message_alone() {
    for policy in POLICIES {
        let (near, far) = pair(policy);
        assert_eq!(far.readable_bytes().expect("fine"), 0);
        near.write(b"12345").expect("room");
        near.putmsg(None, Some(b"678")).expect("room");
        near.write(b"90").expect("room");
        near.putpmsg(None, Some(b"band"), 2).expect("room");
        assert_eq!(far.nread().expect("fine").0, 4, "the band comes first");
        assert_eq!(far.readable_bytes().expect("fine"), 14, "{policy:?}");
        assert_eq!(far.read(&mut [0; 6]).expect("there"), 6);
        assert_eq!(far.readable_bytes().expect("fine"), 8, "{policy:?}");
        assert_eq!(read_until_refused(&far), 8);
        assert_eq!(far.readable_bytes().expect("fine"), 0);
    }
}

#[test]
fn control_parts_count_as_reads_take_them() {
    for policy in POLICIES {
        for mode in [ReadMode::Bytes, ReadMode::MessageKeep] {
            for (control, expected) in
                [(ControlMode::Refuse, 5), (ControlMode::AsData, 5 + 7 + 4 + 3), (ControlMode::Discard, 5 + 4 + 3)]
            {
                let (near, far) = pair(policy);
                near.write(b"bytes").expect("room");
                near.putmsg(Some(b"control"), Some(b"data")).expect("room");
                near.write(b"end").expect("room");
                far.settings().set_read_options(ReadOptions::new().mode(mode).control(control)).expect("known");
                assert_eq!(far.readable_bytes().expect("fine"), expected, "{policy:?} {control:?}");
                assert_eq!(read_until_refused(&far), expected, "{policy:?} {control:?}: reads take as many");
            }
        }
    }
}

#[test]
fn what_was_taken_of_a_message_does_not_count() {
    for policy in POLICIES {
        let (near, far) = pair(policy);
        near.putmsg(Some(b"control"), Some(b"data")).expect("room");
        far.getmsg(Some(&mut [0; 7]), Some(&mut [0; 1])).expect("there");
        assert_eq!(far.readable_bytes().expect("fine"), 3, "{policy:?}: its control part is gone");
        near.putpmsg(Some(b"high"), None, Priority::High).expect("always");
        assert_eq!(far.readable_bytes().expect("fine"), 0, "{policy:?}: a read fails");
    }
}
