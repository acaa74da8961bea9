//! A user-defined module: pushed on an end, it passes on written messages with a count of the messages before them,
//! which it keeps in its state.
//!
//! `cargo run -p headwater-streams --example user_module`

use headwater_streams::{Kind, Message, Module, ModuleInfo, Queue, Result, Side, pipe, register};

/// Numbers the messages that its head writes.
#[derive(Debug)]
struct Numbers;

impl Module for Numbers {
    fn info(&self) -> ModuleInfo {
        ModuleInfo::new("numbers")
    }

    fn put<'m>(&self, mut message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        if queue.side() == Side::Write && message.header.kind == Kind::Data {
            let mut state = queue.state();
            state[0] += 1;
            queue.set_state(state);
            let numbered = format!("{}: ", state[0]).into_bytes();
            message.data_mut().splice(0..0, numbered);
        }
        queue.put_next(message)
    }
}

fn main() -> Result<()> {
    // Every process that uses the stream makes the module known, before it writes or reads there.
    register(Numbers)?;
    let (near, far) = pipe()?;
    near.push("numbers")?;
    println!("modules: {}", near.modules().list()?.join(", "));
    for line in ["a first line", "a second one"] {
        near.write(line.as_bytes())?;
        let mut buffer = [0; 64];
        let count = far.read(&mut buffer)?;
        println!("{}", String::from_utf8_lossy(&buffer[..count]));
    }
    near.pop()
}
