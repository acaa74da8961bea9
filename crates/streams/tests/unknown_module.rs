//! A process that does not know a module of the stream: none of its calls bypasses the module.
//!
//! In a program of its own, since a forked child keeps all ends open that other tests use.

mod common;

use headwater_streams::{Errno, Flush, Module, ModuleInfo, Priority, Result, pipe, register};

/// Known to a forked child alone.
#[derive(Debug)]
struct Stranger;

impl Module for Stranger {
    fn info(&self) -> ModuleInfo {
        ModuleInfo::new("stranger")
    }
}

#[test]
fn a_module_that_this_process_does_not_know_is_never_passed_by() {
    let (mut near, mut far) = pipe().expect("pipe");
    near.set_nonblocking(true).expect("arm");
    far.set_nonblocking(true).expect("arm");
    // The fast paths are open.
    for stream in [&mut near, &mut far] {
        stream.write(b"before").expect("room");
    }
    near.read(&mut [0; 3]).expect("there");
    far.read(&mut [0; 3]).expect("there");
    let pushed = common::child(|| {
        register(Stranger)?;
        near.push("stranger")?;
        near.write(b"through").map(|_| ())
    });
    common::joined(pushed);
    for round in 0..3 {
        let mut buffer = [0; 9];
        let refused: [(&str, Result<()>); 12] = [
            ("write", near.write(b"x").map(|_| ())),
            ("far write", far.write(b"x").map(|_| ())),
            ("putmsg", near.putmsg(Some(b"c"), None)),
            ("putpmsg", far.putpmsg(Some(b"c"), None, 3)),
            ("high priority", near.putpmsg(Some(b"c"), None, Priority::High)),
            ("can_put", near.can_put(0).map(|_| ())),
            ("flush", near.flush_queues(Flush::ALL)),
            ("read", far.read(&mut buffer).map(|_| ())),
            ("near read", near.read(&mut buffer).map(|_| ())),
            ("getmsg", far.getmsg(None, Some(&mut buffer)).map(|_| ())),
            ("reserve", near.direct().reserve(3).map(|_| ())),
            ("pop", near.pop()),
        ];
        for (call, done) in refused {
            let error = done.err().unwrap_or_else(|| panic!("{call} went by the module in round {round}"));
            assert_eq!(error.errno(), Errno::Inval, "{call}: {error}");
            assert!(error.to_string().contains("stranger"), "{call}: {error}");
        }
    }
    // Known at last; nothing was lost or bypassed the module.
    register(Stranger).expect("new here");
    let mut buffer = [0; 20];
    let count = far.read(&mut buffer).expect("there");
    assert_eq!(&buffer[..count], b"orethrough");
    near.write(b"again").expect("known");
    assert_eq!(far.read(&mut buffer).expect("there"), 5);
}
