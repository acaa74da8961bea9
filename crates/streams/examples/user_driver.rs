//! A user-defined driver: a process that opens it writes words, and reads how many letters it has written in all. The
//! driver keeps that number in its memory for each stream.
//!
//! `cargo run -p headwater-streams --example user_driver`

use headwater_streams::{Device, Driver, DriverInfo, Errno, Kind, Message, Queue, Result, register_driver};

/// Counts the written letters.
#[derive(Debug)]
struct Counter;

impl Driver for Counter {
    fn info(&self) -> DriverInfo {
        DriverInfo::new("counter").instance(8)
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        match message.header.kind {
            Kind::Data => {
                let mut count = [0; 8];
                queue.read_instance(0, &mut count)?;
                let count = u64::from_le_bytes(count) + message.data().unwrap_or_default().len() as u64;
                queue.write_instance(0, &count.to_le_bytes())?;
                let mut answer = message;
                *answer.data_mut() = format!("{count} letters").into_bytes();
                queue.reply(answer)
            }
            Kind::Flush => queue.flush_as_driver(message),
            Kind::Ioctl => queue.refuse(&message, Errno::Inval),
            _ => Ok(()),
        }
    }
}

fn main() -> Result<()> {
    // Every process that uses the device makes the driver known, before it opens it.
    register_driver(Counter)?;
    let stream = Device::open_private("counter")?;
    println!("a stream to {}", stream.modules().look()?);
    for word in ["one", "and", "another"] {
        stream.write(word.as_bytes())?;
        let mut buffer = [0; 64];
        let count = stream.read(&mut buffer)?;
        println!("{word}: {}", String::from_utf8_lossy(&buffer[..count]));
    }
    Ok(())
}
