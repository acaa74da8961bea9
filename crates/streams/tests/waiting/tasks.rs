//! Tasks of a tokio runtime that read and write the same end.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use headwater_streams::{
    AsyncStream, Kind, Message, MessageHeader, Module, ModuleInfo, Options, Queue, Side, pipe, register,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn pair(options: &Options) -> (AsyncStream, AsyncStream) {
    let (near, far) = options.pipe().expect("pipe");
    (AsyncStream::new(near).expect("runtime"), AsyncStream::new(far).expect("runtime"))
}

/// A call that takes longer than this hangs.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), future).await.expect("it hangs")
}

#[tokio::test]
async fn one_task_reads_and_writes_in_a_select() {
    const TOTAL: usize = 3_000_000;
    let (near, far) = pair(&Options::new().hiwat(5000).lowat(2000));
    let serve = |end: AsyncStream| async move {
        let (mut from, mut to) = tokio::io::split(end);
        let (mut read, mut written) = (0, 0);
        let mut buffer = [0; 800];
        while read < TOTAL || written < TOTAL {
            tokio::select! {
                count = from.read(&mut buffer), if read < TOTAL => read += count.expect("no error"),
                count = to.write(&[5; 1100][..1100.min(TOTAL - written)]), if written < TOTAL =>
                    written += count.expect("room"),
            }
        }
    };
    let other = tokio::spawn(serve(far));
    soon(serve(near)).await;
    soon(other).await.expect("the other end");
}

#[tokio::test]
async fn a_select_of_a_large_write_and_a_small_read_never_hangs() {
    let (near, mut far) = pair(&Options::default());
    let peer = tokio::spawn(async move {
        let mut buffer = vec![0; 100_000];
        for round in 0..300 {
            far.read_exact(&mut buffer).await.expect("no error");
            if round % 3 == 0 {
                tokio::task::yield_now().await;
            }
            far.write_all(b"!").await.expect("room");
        }
        far
    });
    let (mut from, mut to) = tokio::io::split(near);
    let exchange = async {
        let bytes = vec![1; 100_000];
        for _ in 0..300 {
            let (mut sent, mut heard) = (0, false);
            let mut answer = [0];
            while sent < bytes.len() || !heard {
                tokio::select! {
                    biased;
                    count = from.read(&mut answer), if !heard => heard = count.expect("no error") == 1,
                    count = to.write(&bytes[sent..]), if sent < bytes.len() => sent += count.expect("room"),
                }
            }
        }
    };
    soon(exchange).await;
    soon(peer).await.expect("the peer");
}

#[tokio::test]
async fn shutting_down_ends_the_peer_s_read_and_leaves_the_answer() {
    let (mut near, mut far) = pair(&Options::default());
    let server = tokio::spawn(async move {
        let mut question = Vec::new();
        far.read_to_end(&mut question).await.expect("no error");
        question.reverse();
        far.write_all(&question).await.expect("the asker reads");
    });
    soon(near.write_all(b"desserts")).await.expect("room");
    soon(near.shutdown()).await.expect("shutdown");
    assert!(near.write_all(b"more").await.is_err(), "this direction is closed");
    let mut answer = String::new();
    soon(near.read_to_string(&mut answer)).await.expect("no error");
    assert_eq!(answer, "stressed");
    soon(server).await.expect("server");
}

/// Sends back what its end writes.
#[derive(Debug)]
struct Mirror;

impl Module for Mirror {
    fn info(&self) -> ModuleInfo {
        ModuleInfo::new("mirror")
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> headwater_streams::Result<()> {
        match queue.side() {
            Side::Write => queue.reply(message),
            Side::Read => queue.put_next(message),
        }
    }
}

fn know_mirror() {
    static KNOWN: std::sync::Once = std::sync::Once::new();
    KNOWN.call_once(|| register(Mirror).expect("a free name"));
}

#[tokio::test]
async fn an_answer_of_the_own_module_wakes_the_task_that_reads() {
    know_mirror();
    let (near, _far) = pair(&Options::default());
    near.stream().push("mirror").expect("known");
    let (mut from, mut to) = tokio::io::split(near);
    for _ in 0..20 {
        let mut answer = [0; 5];
        let reading = from.read_exact(&mut answer);
        let writing = async {
            // The reader waits by now.
            tokio::time::sleep(Duration::from_millis(2)).await;
            to.write_all(b"hello").await.expect("room");
        };
        soon(async { tokio::join!(reading, writing) }).await.0.expect("no error");
        assert_eq!(&answer, b"hello");
    }
}

#[tokio::test]
async fn what_the_own_module_raises_wakes_the_task_that_reads() {
    for (request, ends) in [("hangup", true), ("error 71 71", false)] {
        let (near, _far) = pair(&Options::default());
        near.stream().push("testmod").expect("known");
        let (mut to, mut from) = near.split();
        // A separate task: nothing else makes it look again.
        let reading = tokio::spawn(async move { from.next().await });
        tokio::time::sleep(Duration::from_millis(5)).await;
        let control = Message::new(MessageHeader::of(Kind::Proto), Some(request.as_bytes()), None);
        to.send(control.with_priority(1).into_owned()).await.expect("room");
        let read = soon(reading).await.expect("no panic");
        assert_eq!(read.is_none(), ends, "{request}: {read:?}");
    }
}

/// Two streams of one end: the module's answer to one is for the other. The other end does nothing.
#[tokio::test]
async fn an_answer_to_one_stream_wakes_the_task_that_reads_by_another_of_the_same_end() {
    know_mirror();
    let (near, _far) = pipe().expect("pipe");
    let mut reader = AsyncStream::new(near.clone()).expect("runtime");
    let mut writer = AsyncStream::new(near).expect("runtime");
    let reading = tokio::spawn(async move {
        let mut answer = [0; 5];
        for _ in 0..20 {
            reader.read_exact(&mut answer).await.expect("no error");
            assert_eq!(&answer, b"hello");
        }
    });
    // It sleeps before the module is there.
    tokio::time::sleep(Duration::from_millis(30)).await;
    writer.stream().push("mirror").expect("known");
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_millis(2)).await;
        writer.write_all(b"hello").await.expect("room");
    }
    soon(reading).await.expect("no panic");
}

/// The same from a forked process, which shares only the end with the runtime.
#[test]
fn an_answer_to_another_process_wakes_the_task_that_reads() {
    crate::common::in_own_process!();
    let (near, _far) = pipe().expect("pipe");
    let other = near.clone();
    let (ready, tell) = std::io::pipe().expect("pipe");
    let child = crate::common::child(|| {
        std::io::Read::read_exact(&mut &ready, &mut [0])?;
        other.push("testmod")?;
        other.putpmsg(Some(b"proto hello"), None, 1)
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let mut reader = AsyncStream::new(near).expect("runtime");
        let reading = tokio::spawn(async move { reader.receive().await });
        tokio::time::sleep(Duration::from_millis(30)).await;
        std::io::Write::write_all(&mut &tell, b"x").expect("pipe");
        let received = soon(reading).await.expect("no panic").expect("no error");
        assert_eq!(received.expect("a message").control(), Some(&b"hello"[..]));
    });
    crate::common::joined(child);
}
