//! Tasks of a tokio runtime that meet a holder which is stopped: other tasks run, and the waiting ones continue when it
//! does.

use std::time::Duration;

use futures_util::SinkExt;
use headwater_streams::AsyncStream;
use headwater_streams::{Message, pipe};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::common::{calm, in_own_process, joined, within};
use super::holders::stopped;
use super::{HELD, Holds, holder, signal, tell};

#[test]
fn a_task_does_not_stop_others_while_a_holder_is_stopped() {
    in_own_process!();
    for holds in [Holds::Writing, Holds::Reading] {
        within(Duration::from_secs(30), format!("a task, while {holds:?} is stopped"));
        let (near, far) = pipe().expect("pipe");
        far.putmsg(None, Some(HELD)).expect("room");
        far.putmsg(None, Some(b"more")).expect("room");
        let (child, control) = holder(near.clone(), holds);
        stopped(child.id());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let mut stream = AsyncStream::new(near).expect("a runtime");
            let message = Message::from(b"more".to_vec());
            let mut buffer = [0; 4];
            let long = Duration::from_millis(100);
            match holds {
                Holds::Writing => {
                    assert!(tokio::time::timeout(long, stream.write_all(b"more")).await.is_err(), "it is held");
                    assert!(tokio::time::timeout(long, stream.send(message.clone())).await.is_err(), "it is held");
                }
                Holds::Reading => {
                    assert!(tokio::time::timeout(long, stream.read(&mut buffer)).await.is_err(), "it is held");
                }
            }
            let goes_on = async {
                tokio::time::sleep(long).await;
                signal(child.id(), libc::SIGCONT);
                tell(&control);
            };
            match holds {
                Holds::Writing => {
                    tokio::join!(goes_on, async { stream.write_all(b"more").await.expect("it came out") })
                }
                Holds::Reading => {
                    tokio::join!(goes_on, async { assert_eq!(stream.read(&mut buffer).await.expect("it came out"), 4) })
                }
            };
        });
        joined(child);
    }
    calm();
}
