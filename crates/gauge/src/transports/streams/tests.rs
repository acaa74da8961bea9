//! Tests that the options in a subject's name reach the stream.

use std::path::Path;

use headwater_streams::Stream;

use super::*;

const ALL: &str = "2xsrvmod+hold+mread+readfill+hiwat=131072+lowat=8192";

fn setup<'a>(options: &'a str, directory: &'a Path) -> Setup<'a> {
    Setup { size: 64, duplex: false, nonblocking: false, same_cpu: false, directory, options }
}

/// Checks that both ends have all of [`ALL`], and the modules on the sender's.
fn has_all(sender: &Stream, receiver: &Stream) {
    let modules = sender.modules().list().expect("the names of the modules");
    assert_eq!(modules.iter().filter(|name| *name == "srvmod").count(), 2, "{modules:?}");
    for end in [sender, receiver] {
        assert_eq!(end.settings().water_marks(), (131_072, 8192));
        assert_eq!(end.settings().write_options(), WriteOptions::PIPE.hold(true).notify(true));
        assert_eq!(end.settings().read_options(), end.settings().read_options().fill(true));
    }
}

#[test]
fn a_pipe_has_the_options_of_its_name() {
    let (sender, receiver) = window::Pipe::open(&setup(ALL, Path::new("/nonexistent"))).expect("a pipe");
    has_all(sender.0.stream(), receiver.0.stream());
    let (sender, receiver) = window::Pipe::open(&setup("", Path::new("/nonexistent"))).expect("a pipe");
    for end in [sender.0.stream(), receiver.0.stream()] {
        assert_eq!(end.settings().water_marks(), (limits::HIWAT, limits::HIWAT / 2));
        assert_eq!(end.settings().write_options(), WriteOptions::PIPE);
        assert_ne!(end.settings().read_options(), end.settings().read_options().fill(true));
    }
}

#[test]
fn a_fifo_has_the_options_of_its_name() {
    let directory = tempfile::TempDir::new().expect("a temporary directory");
    let (sender, receiver) = fifo::StreamsFifo::open(&setup(ALL, directory.path())).expect("a FIFO");
    let [sender, receiver] = [&sender.sender, &receiver.receiver].map(|end| end.as_ref().expect("an end"));
    has_all(sender.0.stream(), receiver.0.stream());
}

#[test]
fn an_unknown_module_makes_the_row_unavailable() {
    let error = window::Pipe::open(&setup("1xfrob", Path::new("/nonexistent"))).expect_err("there is no frob");
    assert!(error.0.contains("STREAMS pipe"), "{error}");
    let error = window::Pipe::open(&setup("frob", Path::new("/nonexistent"))).expect_err("frob is no option");
    assert!(error.0.contains("frob"), "{error}");
}
