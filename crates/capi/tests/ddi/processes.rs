//! Tests with several processes that hold the stream: forked ones, and programs that this one starts.

use std::process::{Command, Stdio};
use std::time::Duration;

use headwater::ddi::exports;
use headwater_os::child::Child;
use headwater_streams::{CommandStream, Errno, Events, Options, Stream, pipe};

use super::common::*;

/// Not a separate test: the program that other tests start. It does not push the module; the test has pushed it.
#[test]
fn started_program() {
    let Ok(what) = std::env::var("DDI_TEST_PROGRAM") else { return };
    std::hint::black_box(exports::all());
    let stream = Stream::from_env("DDI_TEST_STREAM").expect("passed");
    match what.as_str() {
        // Reads all messages, and sends back how many they were and the sum of their bytes.
        "sum" => {
            let (mut count, mut sum) = (0u64, 0u64);
            while let Some(got) = stream.receive().expect("no error") {
                let data = got.data().unwrap_or_default();
                if data == b"end" || data == b"END" {
                    break;
                }
                (count, sum) = (count + 1, sum + data.iter().map(|byte| u64::from(*byte)).sum::<u64>());
            }
            stream.putmsg(Some(b"sum"), Some(format!("{count} {sum}").as_bytes())).expect("room");
        }
        // Uses the same end: the module runs here with its memory of this process and with its memory in the stream.
        "count" => {
            let local = ask(&stream, LOCAL, b"").expect("acknowledged").0;
            let shared = ask(&stream, SHARED, b"").expect("acknowledged").0;
            println!("counted {local} {shared}");
        }
        _ => panic!("{what}"),
    }
}

fn start(what: &str, end: &Stream) -> std::process::Child {
    let mut program = Command::new(std::env::current_exe().expect("our own path"));
    program.args(["--exact", "processes::started_program", "--nocapture"]).env("DDI_TEST_PROGRAM", what);
    program.stream("DDI_TEST_STREAM", end).expect("passed").stdout(Stdio::piped()).spawn().expect("it starts")
}

fn forked(body: impl FnOnce() -> headwater_streams::Result<()>) -> Child {
    Child::fork(|| {
        body().map_or_else(
            |error| {
                eprintln!("child: {error}");
                1
            },
            |()| 0,
        )
    })
    .expect("fork")
}

#[test]
fn started_program_runs_the_streams_modules() {
    const COUNT: u64 = 20_000;
    let _alone = prepare();
    for modules in [&["upper"][..], &["ctest"], &["ctest", "upper", "ctest"]] {
        let (near, far) = Options::new().hiwat(4096).lowat(1024).pipe().expect("pipe");
        modules.iter().for_each(|module| near.push(module).expect("push"));
        let mut program = start("sum", &far);
        drop(far);
        let mut sum = 0;
        for number in 0..COUNT {
            let text = format!("{number} x");
            let arrives = if modules.contains(&"upper") { text.to_uppercase() } else { text.clone() };
            sum += arrives.bytes().map(u64::from).sum::<u64>();
            near.putmsg((number % 2 == 0).then_some(&b"c"[..]), Some(text.as_bytes())).expect("the reader lives");
        }
        near.putmsg(None, Some(b"end")).expect("the reader lives");
        let got = near.receive().expect("no error").expect("an answer");
        assert_eq!(got.data(), Some(format!("{COUNT} {sum}").as_bytes()), "{modules:?}");
        assert!(program.wait().expect("it ends").success());
    }
}

#[test]
fn q_ptr_is_per_process_and_stream_memory_is_shared() {
    let _alone = prepare();
    let (near, _far) = pipe().expect("pipe");
    near.push("ctest").expect("push");
    for count in 1..=3 {
        assert_eq!(ask(&near, LOCAL, b"").expect("acknowledged").0, count);
        assert_eq!(ask(&near, SHARED, b"").expect("acknowledged").0, count);
    }
    // A forked child has a copy of the module's memory. A program that is started begins with its own open procedure.
    let opens = variable("ctest.so", "ctest_opens");
    let mut child = forked(|| {
        assert_eq!(ask(&near, LOCAL, b"")?.0, 4);
        assert_eq!(ask(&near, SHARED, b"")?.0, 4);
        assert_eq!(variable("ctest.so", "ctest_opens"), opens);
        Ok(())
    });
    assert!(child.wait().expect("wait").success());
    let said = start("count", &near).wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.contains("counted 1 5"), "{said}");
    assert_eq!(ask(&near, LOCAL, b"").expect("acknowledged").0, 4);
    assert_eq!(ask(&near, SHARED, b"").expect("acknowledged").0, 6);
}

#[test]
fn module_replaced_by_another_process_is_opened_again() {
    let _alone = prepare();
    let (near, far) = pipe().expect("pipe");
    near.push("ctest").expect("push");
    assert_eq!(ask(&near, LOCAL, b"").expect("acknowledged").0, 1);
    let closes = variable("ctest.so", "ctest_closes");
    let mut child = forked(|| {
        near.pop()?;
        near.push("ctest")
    });
    assert!(child.wait().expect("wait").success());
    assert_eq!(variable("ctest.so", "ctest_closes"), closes, "nothing has run here since");
    assert_eq!(ask(&near, LOCAL, b"").expect("acknowledged").0, 1, "it is another push");
    assert_eq!(variable("ctest.so", "ctest_closes"), closes + 1);
    near.write(b"on").expect("room");
    assert_eq!(read_within(&far, PATIENCE), "on");
}

#[test]
fn forked_writers_and_readers_share_c_queues() {
    const EACH: u32 = 20_000;
    let _alone = prepare();
    let (near, far) = Options::new().hiwat(4096).lowat(1024).pipe().expect("pipe");
    near.push("ctest").expect("push");
    far.push("ctest").expect("push");
    let writers: Vec<Child> = (0..3u32)
        .map(|writer| {
            forked(|| {
                for number in 0..EACH {
                    let bytes = [writer.to_le_bytes(), number.to_le_bytes()].concat();
                    near.putmsg(None, Some(&bytes))?;
                }
                Ok(())
            })
        })
        .collect();
    let mut next = [0; 3];
    for _ in 0..3 * EACH {
        let got = far.receive().expect("no error").expect("more are to come").into_parts().1.expect("data");
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| got[at + byte]));
        let writer = word(0) as usize;
        assert_eq!(word(4), next[writer], "of writer {writer}");
        next[writer] += 1;
    }
    for mut writer in writers {
        assert!(writer.wait().expect("wait").success());
    }
}

#[test]
fn stream_survives_a_process_killed_in_a_c_procedure() {
    let _alone = prepare();
    for round in 0..10 {
        let (near, far) = pipe().expect("pipe");
        near.push("ctest").expect("push");
        near.write(b"before").expect("room");
        let mut child = forked(|| ask(&near, SPIN, b"").map(drop));
        // When this process cannot enter the stream, the child is in the procedure.
        near.set_nonblocking(true).expect("arm");
        let until = std::time::Instant::now() + PATIENCE;
        while near.write(b"").is_ok() && near.putmsg(Some(b"probe"), None).is_ok() {
            assert!(std::time::Instant::now() < until, "the child never comes to the procedure");
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill();
        child.wait().expect("wait");
        near.set_nonblocking(false).expect("arm");
        near.putmsg(None, Some(b"after")).expect("the stream goes on");
        let mut last = Vec::new();
        while far.poll(Events::IN, Some(Duration::from_millis(200))).expect("poll").contains(Events::IN) {
            last = far.receive().expect("no error").expect("there").into_parts().1.unwrap_or_default();
        }
        assert_eq!(last, b"after", "round {round}");
        assert_eq!(ask(&near, REVERSE, b"ab").expect("acknowledged").1, b"ba");
    }
}

#[test]
fn forked_child_starts_without_its_parents_timeouts() {
    let _alone = prepare();
    let (near, _far) = pipe().expect("pipe");
    near.push("ctest").expect("push");
    assert_eq!(ask(&near, TIMEOUT, &[30]).expect("acknowledged").0, 1);
    let mut child = forked(|| {
        ask(&near, TIMEOUT, &[2])?;
        std::thread::sleep(Duration::from_millis(100));
        Ok(())
    });
    assert!(child.wait().expect("wait").success());
    assert_eq!(read_within(&near, PATIENCE), "tick");
    assert_eq!(read_within(&near, PATIENCE), "tick");
    assert_eq!(read_within(&near, Duration::from_millis(500)), "");
}

#[test]
fn calls_fail_in_a_process_without_the_module() {
    let _alone = prepare();
    let (near, far) = pipe().expect("pipe");
    near.push("upper").expect("push");
    let mut program = Command::new(std::env::current_exe().expect("our own path"));
    program.args(["--exact", "processes::program_without_the_module", "--nocapture"]).env("DDI_TEST_IGNORANT", "1");
    program.env("HEADWATER_MODULES", "/nowhere");
    let passed = program.stream("DDI_TEST_STREAM", &far).expect("passed");
    assert!(passed.status().expect("it runs").success());
}

/// Not a separate test: the program that the test above starts.
#[test]
fn program_without_the_module() {
    if std::env::var_os("DDI_TEST_IGNORANT").is_none() {
        return;
    }
    let stream = Stream::from_env("DDI_TEST_STREAM").expect("passed");
    assert_eq!(stream.write(b"x").expect_err("refused").errno(), Errno::Inval);
    assert_eq!(stream.read(&mut [0; 4]).expect_err("refused").errno(), Errno::Inval);
}
