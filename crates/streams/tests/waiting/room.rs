//! Room at a FIFO's writer, as poll and epoll see it: as at a kernel FIFO.

use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use headwater_streams::{Access, AsyncStream, Errno, Events, FifoOptions, Options, Stream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::descriptor::{Epoll, NOW, SOON, drain, fill};
use crate::common::{Random, extent, fifo, open, polled};

const BOTH: i16 = libc::POLLIN | libc::POLLOUT;

fn ends() -> (tempfile::TempDir, std::path::PathBuf, Stream, Stream) {
    let (directory, path) = fifo();
    let reader = open(&path, Access::Read).expect("open");
    let writer = open(&path, Access::Write).expect("open");
    (directory, path, reader, writer)
}

#[test]
fn a_fifo_s_writer_is_writable_while_there_is_room_and_not_longer() {
    let (_directory, _path, reader, writer) = ends();
    for _ in 0..100 {
        assert_eq!(polled(&writer, BOTH, NOW), libc::POLLOUT);
        assert_eq!(polled(&reader, BOTH, NOW), 0, "nothing to read, and nothing is written here");
        assert!(fill(&writer) > 60_000);
        assert_eq!(polled(&writer, BOTH, NOW), 0, "full");
        assert_eq!(polled(&reader, BOTH, NOW), libc::POLLIN);
        assert_eq!(reader.read(&mut [0; 1000]).expect("there"), 1000);
        assert_eq!(polled(&writer, BOTH, NOW), 0, "above the low water mark");
        while reader.read(&mut [0; 1000]).expect("there") > 0 && polled(&writer, BOTH, NOW) == 0 {}
        assert_eq!(polled(&writer, BOTH, NOW), libc::POLLOUT);
        assert_eq!(polled(&reader, BOTH, NOW), libc::POLLIN, "there is more to read");
        assert!(drain(&reader) > 20_000, "told at the low water mark");
        assert_eq!(polled(&reader, BOTH, NOW), 0, "all was read");
    }
}

#[test]
fn room_in_a_fifo_is_an_edge() {
    let (_directory, _path, reader, writer) = ends();
    let edges = Epoll::over(writer.as_fd().as_raw_fd(), libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLET);
    assert_eq!(edges.wait(NOW), libc::EPOLLOUT);
    for _ in 0..100 {
        fill(&writer);
        assert_eq!(edges.wait(NOW), 0, "no room, no event");
        drain(&reader);
        assert_eq!(edges.wait(SOON), libc::EPOLLOUT);
        assert_eq!(edges.wait(NOW), 0, "told once");
    }
}

#[test]
fn what_a_fifo_s_descriptors_show_without_a_peer() {
    let (_directory, path, reader, writer) = ends();
    fill(&writer);
    drop(reader);
    assert_eq!(polled(&writer, BOTH, NOW), libc::POLLERR, "as at a kernel FIFO");
    assert_eq!(writer.write(b"x").expect_err("nobody reads").errno(), Errno::Pipe);
    let reader = open(&path, Access::Read).expect("open");
    assert_eq!(polled(&reader, BOTH, NOW), libc::POLLIN, "what lies there");
    drain(&reader);
    assert_eq!(polled(&writer, BOTH, NOW), libc::POLLOUT);
    writer.write(b"x").expect("a reader has come");
    drop(writer);
    assert_eq!(polled(&reader, BOTH, NOW), libc::POLLIN | libc::POLLHUP);
    assert_eq!(drain(&reader), 1);
    assert_eq!(polled(&reader, BOTH, NOW) & !libc::POLLIN, libc::POLLHUP);
}

#[test]
fn stream_poll_asks_a_fifo_s_end_for_its_direction_alone() {
    let (_directory, _path, reader, writer) = ends();
    let both = Events::IN | Events::OUT;
    assert_eq!(writer.poll(both, Some(SOON)).expect("no error"), Events::OUT);
    assert!(reader.poll(both, Some(Duration::from_millis(20))).expect("no error").is_empty());
    fill(&writer);
    assert_eq!(reader.poll(both, Some(SOON)).expect("no error"), Events::IN);
    assert!(writer.poll(both, Some(Duration::from_millis(20))).expect("no error").is_empty());
    let late = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(30));
        drain(&reader);
        reader
    });
    assert_eq!(writer.poll(both, Some(SOON)).expect("no error"), Events::OUT);
    late.join().expect("no panic");
}

#[test]
fn a_program_that_writes_to_a_fifo_s_writer_is_noticed() {
    let (_directory, _path, reader, writer) = ends();
    assert!(reader.read(&mut [0; 8]).is_err());
    let output = std::process::Command::new("echo")
        .arg("lost")
        .stdout(writer.as_fd().try_clone_to_owned().expect("dup"))
        .status()
        .expect("echo");
    assert!(output.success());
    assert_eq!(polled(&reader, libc::POLLIN, NOW), libc::POLLIN);
    assert_eq!(reader.read(&mut [0; 8]).expect_err("said, and not lost").errno(), Errno::Proto);
}

/// Writes `total` bytes in one of several ways of waiting.
fn write_all(writer: Stream, way: usize, total: usize, done: &AtomicBool) {
    let edges = Epoll::over(writer.as_fd().as_raw_fd(), libc::EPOLLOUT | libc::EPOLLET);
    writer.set_nonblocking(way != 0).expect("set");
    let mut left = total;
    while left > 0 {
        match writer.write(&[1; 700][..left.min(700)]) {
            Ok(count) => left -= count,
            Err(error) => {
                assert_eq!(error.errno(), Errno::Again, "{error}");
                let ready = match way {
                    1 => polled(&writer, libc::POLLOUT, SOON) == libc::POLLOUT,
                    2 => edges.wait(SOON) & libc::EPOLLOUT != 0,
                    _ => !writer.poll(Events::OUT, Some(SOON)).expect("no error").is_empty(),
                };
                assert!(
                    ready || done.load(Ordering::Relaxed),
                    "way {way}: {left} of {total} left, and no room is told"
                );
            }
        }
    }
}

#[test]
fn writers_of_a_fifo_that_wait_in_different_ways_are_all_told() {
    for round in 0..extent("HEADWATER_FIFO_ROUNDS", 10) {
        let (_directory, path) = fifo();
        let options = Options::new().hiwat(3000).lowat(1000);
        let reader = FifoOptions::new().nonblocking(true).stream(options).open(&path, Access::Read).expect("open");
        let done = Arc::new(AtomicBool::new(false));
        const TOTAL: usize = 200_000;
        let ways: Vec<usize> = (0..2 + round as usize % 3).map(|number| (number + round as usize) % 4).collect();
        let writers: Vec<_> = ways
            .iter()
            .map(|way| {
                let (writer, way, done) = (open(&path, Access::Write).expect("open"), *way, done.clone());
                std::thread::spawn(move || write_all(writer, way, TOTAL, &done))
            })
            .collect();
        let (mut read, mut buffer) = (0, [0; 2000]);
        let mut random = Random(round);
        while read < TOTAL * ways.len() {
            let wanted = 1 + random.below(buffer.len());
            match reader.read(&mut buffer[..wanted]) {
                Ok(count) => read += count,
                Err(error) => {
                    assert_eq!(error.errno(), Errno::Again);
                    let shown = polled(&reader, libc::POLLIN, SOON);
                    assert_ne!(shown, 0, "round {round}, ways {ways:?}: {read} bytes read");
                }
            }
        }
        done.store(true, Ordering::Relaxed);
        writers.into_iter().for_each(|writer| writer.join().expect("no panic"));
    }
}

#[tokio::test]
async fn tasks_write_and_read_a_fifo() {
    let (_directory, _path, reader, writer) = ends();
    let (mut reader, mut writer) =
        (AsyncStream::new(reader).expect("runtime"), AsyncStream::new(writer).expect("runtime"));
    let exchange = async {
        let writes = tokio::spawn(async move {
            for _ in 0..200 {
                writer.write_all(&[5; 30_000]).await.expect("a reader lives");
            }
        });
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).await.expect("no error");
        writes.await.expect("no panic");
        bytes.len()
    };
    assert_eq!(tokio::time::timeout(Duration::from_secs(30), exchange).await.expect("it hangs"), 6_000_000);
}
