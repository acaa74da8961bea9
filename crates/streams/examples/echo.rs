//! A tokio echo service over a stream: one task answers every message, the other talks to it, in one process here; over
//! `send_over`, exec or a FIFO it would be the same in two.
//!
//! `cargo run -p headwater-streams --features tokio --example echo`

use futures_util::{SinkExt, StreamExt};
use headwater_streams::{AsyncStream, Message, pipe};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (near, far) = pipe()?;
    let mut client = AsyncStream::new(near)?;
    let service = tokio::spawn(serve(AsyncStream::new(far)?));
    for text in ["one", "two", "three"] {
        client.send(Message::proto_of(b"echo", text.as_bytes()).into_owned()).await?;
        let answer = client.next().await.ok_or("the service is gone")??;
        println!("{} -> {}", text, String::from_utf8_lossy(answer.data().unwrap_or_default()));
    }
    drop(client);
    println!("{} messages served", service.await??);
    Ok(())
}

/// Answers every message with the same, its data in capitals.
async fn serve(mut stream: AsyncStream) -> headwater_streams::Result<usize> {
    let mut served = 0;
    while let Some(mut message) = stream.receive().await? {
        message.data_mut().make_ascii_uppercase();
        stream.send_message(&message).await?;
        served += 1;
    }
    Ok(served)
}
