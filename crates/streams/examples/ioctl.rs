//! A module that answers ioctls, with data of the caller and with a copy from the caller's memory.
//!
//! `cargo run -p headwater-streams --example ioctl`

use headwater_streams::{
    Errno, IoctlBlock, IoctlTimeout, Kind, MemoryAt, Message, Module, ModuleInfo, Queue, Result, Side, pipe, register,
};

/// Adds numbers up: the data are some.
const SUM: u32 = 1;
/// The same, where the argument is the address of two of them.
const SUM_AT: u32 = 2;

/// Answers the commands above.
#[derive(Debug)]
struct Adder;

impl Module for Adder {
    fn info(&self) -> ModuleInfo {
        ModuleInfo::new("adder")
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        let asked = queue.side() == Side::Write && matches!(message.header.kind, Kind::Ioctl | Kind::IocData);
        if !asked {
            return queue.put_next(message);
        }
        let block = IoctlBlock::of(&message)?;
        let data = message.data().unwrap_or_default();
        match (message.header.kind, block.command) {
            (Kind::Ioctl, SUM) if !data.len().is_multiple_of(4) => queue.refuse(&message, Errno::Inval),
            (Kind::Ioctl, SUM) => queue.acknowledge(&message, sum(data), None),
            (Kind::Ioctl, SUM_AT) => {
                let address = data.first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
                queue.copy_in(&message, address, 8, [0; 2])
            }
            // The copied data. (After a failed copy the caller has its error already.)
            (Kind::IocData, SUM_AT) if block.error == 0 => queue.acknowledge(&message, sum(data), None),
            (Kind::IocData, SUM_AT) => Ok(()),
            // A module or driver further down may know it.
            _ => queue.put_next(message),
        }
    }
}

fn sum(bytes: &[u8]) -> i32 {
    bytes.chunks_exact(4).map(|chunk| i32::from_ne_bytes(std::array::from_fn(|at| chunk[at]))).sum()
}

fn main() -> Result<()> {
    register(Adder)?;
    let (near, _far) = pipe()?;
    near.push("adder")?;
    let mut numbers = [20i32, 22].map(i32::to_ne_bytes).concat();
    println!("20 + 22 = {}", near.ioctl(SUM, &mut numbers.clone(), IoctlTimeout::Usual)?);
    let mut memory = MemoryAt::new(0x1000, &mut numbers);
    println!("again: {}", near.transparent_ioctl(SUM_AT, 0x1000, &mut memory)?);
    for (address, why) in [(0x1004, "half of it is not there"), (0, "nothing is there")] {
        let error = near.transparent_ioctl(SUM_AT, address, &mut memory).expect_err(why);
        println!("{why}: {error} ({:?})", error.errno());
    }
    let error = near.ioctl(3, &mut Vec::new(), IoctlTimeout::Usual).expect_err("nobody knows it");
    println!("{error} ({:?})", error.errno());
    Ok(())
}
