//! Streams under tokio: tasks wait, are woken, and meet the end.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use headwater_streams::{AsyncStream, Errno, Message, Options, Priority, pipe};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn pair(options: &Options) -> (AsyncStream, AsyncStream) {
    let (near, far) = options.pipe().expect("pipe");
    (AsyncStream::new(near).expect("runtime"), AsyncStream::new(far).expect("runtime"))
}

/// A call that takes longer than this hangs.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future).await.expect("it hangs")
}

#[tokio::test]
async fn bytes_pass_with_every_wait_on_the_way() {
    // A small queue: both sides wait again and again.
    let (mut near, mut far) = pair(&Options::new().hiwat(1000).lowat(300));
    let sent: Vec<u8> = (0..500_000u32).map(|number| number as u8).collect();
    let expected = sent.clone();
    let writer = tokio::spawn(async move {
        for piece in sent.chunks(777) {
            near.write_all(piece).await.expect("the reader lives");
        }
    });
    let mut got = Vec::new();
    soon(far.read_to_end(&mut got)).await.expect("no error");
    assert!(got == expected);
    writer.await.expect("writer");
}

#[tokio::test]
async fn a_ping_pong_of_messages_never_stalls() {
    let (mut near, mut far) = pair(&Options::default());
    let answerer = tokio::spawn(async move {
        while let Some(message) = far.next().await {
            SinkExt::send(&mut far, message.expect("no error")).await.expect("the asker lives");
        }
    });
    for number in 0..2000u32 {
        let message = Message::from((number.to_le_bytes().to_vec(), vec![7; (number % 300) as usize]));
        soon(SinkExt::send(&mut near, message.clone())).await.expect("room");
        assert_eq!(soon(near.receive()).await.expect("no error"), Some(message));
    }
    drop(near);
    soon(answerer).await.expect("the end was seen");
}

#[tokio::test]
async fn a_blocking_thread_wakes_a_task_and_is_woken_by_it() {
    let (near, far) = pipe().expect("pipe");
    let mut near = AsyncStream::new(near).expect("runtime");
    let thread = std::thread::spawn(move || {
        let mut byte = [0];
        while far.read(&mut byte).expect("no error") > 0 {
            std::thread::sleep(Duration::from_millis(u64::from(byte[0] % 3)));
            far.write(&byte).expect("the task lives");
        }
    });
    for number in 0..200u8 {
        soon(near.write_all(&[number])).await.expect("the thread lives");
        assert_eq!(soon(near.read_u8()).await.expect("no error"), number);
    }
    drop(near);
    thread.join().expect("the end was seen");
}

#[tokio::test]
async fn the_two_halves_wait_apart() {
    let (near, far) = pair(&Options::new().hiwat(100).lowat(50));
    let (mut read, mut write) = tokio::io::split(near);
    let (mut far_read, mut far_write) = tokio::io::split(far);
    let pump = tokio::spawn(async move {
        let mut buffer = [0; 64];
        for _ in 0..100_000 / 64 {
            far_read.read_exact(&mut buffer).await.expect("no error");
            far_write.write_all(&buffer).await.expect("room");
        }
    });
    let writer = tokio::spawn(async move {
        for _ in 0..100_000 / 64 {
            write.write_all(&[3; 64]).await.expect("room");
        }
        write
    });
    let mut buffer = [0; 64];
    for _ in 0..100_000 / 64 {
        soon(read.read_exact(&mut buffer)).await.expect("no error");
        assert_eq!(buffer, [3; 64]);
    }
    soon(pump).await.expect("pump");
    soon(writer).await.expect("writer");
}

#[tokio::test]
async fn a_megabyte_comes_back_from_an_echo_of_messages_as_it_was() {
    let (near, mut far) = pair(&Options::default());
    let service = tokio::spawn(async move {
        while let Some(message) = far.receive().await.expect("no error") {
            far.send_message(&message).await.expect("the asker lives");
        }
    });
    let sent: Vec<u8> = (0..1 << 20).map(|number: u32| (number.wrapping_mul(0x9e37_79b1) >> 24) as u8).collect();
    let expected = sent.clone();
    let (mut read, mut write) = tokio::io::split(near);
    let writer = tokio::spawn(async move {
        write.write_all(&sent).await.expect("the service lives");
        write
    });
    let mut got = vec![0; expected.len()];
    // A slow reader: the service finds the queue full in the middle of a message.
    for piece in got.chunks_mut(16 << 10) {
        soon(read.read_exact(piece)).await.expect("no error");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let wrong = got.iter().zip(&expected).position(|(got, expected)| got != expected);
    assert_eq!(wrong, None, "the first byte that differs");
    drop((read, soon(writer).await.expect("writer")));
    soon(service).await.expect("the end was seen");
}

#[tokio::test]
async fn a_message_that_finds_no_room_waits_in_the_sink_whatever_its_band() {
    for band in [0, 3] {
        let (mut near, mut far) = pair(&Options::new().hiwat(100).lowat(50).maxpsz(64));
        let numbers = 0..500u32;
        let message =
            move |number: u32| Message::from((number.to_le_bytes().to_vec(), vec![7; 60])).with_priority(band);
        let sender = tokio::spawn(async move {
            for number in numbers.clone() {
                // Fed one after another, so that each finds the queue as the one before has left it.
                SinkExt::feed(&mut near, message(number)).await.expect("it waits");
            }
            SinkExt::<Message<'_>>::flush(&mut near).await.expect("the reader lives");
            near
        });
        for number in 0..500u32 {
            let got = soon(far.receive()).await.expect("no error").expect("not the end");
            assert_eq!((got.priority(), got.control()), (Priority::Band(band), Some(&number.to_le_bytes()[..])));
        }
        drop(soon(sender).await.expect("sender"));
        assert_eq!(soon(far.receive()).await.expect("no error"), None);
    }
}

#[tokio::test]
async fn a_close_ends_the_futures_of_the_end() {
    for rounds in 0..20 {
        let (near, far) = Options::new().hiwat(1000).lowat(300).pipe().expect("pipe");
        let task = |writes: bool| {
            let mut end = AsyncStream::new(far.clone()).expect("runtime");
            tokio::spawn(async move {
                loop {
                    let done = if writes { end.write(&[0; 100]).await } else { end.read(&mut [0; 8]).await };
                    if let Err(error) = done {
                        return error;
                    }
                }
            })
        };
        let (reader, writer) = (task(false), task(true));
        // A stream on which no task waits.
        let mut idle = AsyncStream::new(far.clone()).expect("runtime");
        (0..rounds).for_each(|_| std::hint::spin_loop());
        tokio::task::yield_now().await;
        tokio::time::sleep(Duration::from_millis(rounds % 3 * 5)).await;
        far.close().expect("close");
        // The other end sees it at once: no descriptor is left.
        let mut rest = vec![0; 1 << 16];
        while near.read(&mut rest).expect("what was written, and then the end") > 0 {}
        assert_eq!(near.write(b"x").expect_err("gone").errno(), Errno::Pipe);
        for task in [reader, writer] {
            let error = soon(task).await.expect("no panic");
            assert_eq!(error.raw_os_error(), Some(Errno::Badf.number()), "{error}");
        }
        assert_eq!(soon(idle.receive()).await.expect_err("closed").errno(), Errno::Badf);
    }
}

/// CPU time of the calling thread.
fn thread_cpu() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: room for one value.
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) }, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[tokio::test]
async fn a_task_that_waits_for_long_uses_no_cpu() {
    let mut pairs: Vec<_> = (0..50).map(|_| pair(&Options::default())).collect();
    let tasks: Vec<_> = pairs
        .drain(..)
        .map(|(near, mut far)| (near, tokio::spawn(async move { far.read(&mut [0; 8]).await.expect("the end") })))
        .collect();
    tokio::time::sleep(Duration::from_millis(50)).await;
    let before = thread_cpu();
    tokio::time::sleep(Duration::from_millis(300)).await;
    let used = thread_cpu() - before;
    assert!(used < Duration::from_millis(10), "{used:?}");
    for (near, task) in tasks {
        drop(near);
        assert_eq!(soon(task).await.expect("no panic"), 0);
    }
}

#[tokio::test]
async fn a_task_whose_stream_is_always_ready_lets_others_run() {
    const BYTES: usize = 50_000;
    let (mut near, mut far) = pair(&Options::default());
    near.write_all(&[1; BYTES]).await.expect("room");
    let reader = tokio::spawn(async move {
        for _ in 0..BYTES {
            far.read_exact(&mut [0]).await.expect("all of it is there");
        }
    });
    let mut turns = 0;
    while !reader.is_finished() {
        tokio::task::yield_now().await;
        turns += 1;
    }
    assert!(turns > 100, "{turns}");
}

#[tokio::test]
async fn an_answer_that_comes_at_once_is_found_without_a_notification() {
    let (mut near, far) = pair(&Options::default());
    let (mut reads, mut writes) = tokio::io::split(far);
    let echo = tokio::spawn(async move { tokio::io::copy(&mut reads, &mut writes).await });
    let asker = tokio::spawn(async move {
        for round in 0..1000u32 {
            near.write_all(&round.to_ne_bytes()).await.expect("room");
            let mut answer = [0; 4];
            near.read_exact(&mut answer).await.expect("an answer");
            assert_eq!(u32::from_ne_bytes(answer), round);
        }
        near.counters().doorbells
    });
    let rung = soon(asker).await.expect("no panic");
    // A busy machine may take the CPU away in between.
    assert!(rung < 200, "{rung}");
    soon(echo).await.expect("no panic").expect("the end");
}
