//! The loop of a hostile process: some of the actions of its kind, in random order.

use std::time::Duration;

use crate::common::Random;

/// Its actions, and the function that runs one.
pub struct Deeds<'d, H, D> {
    pub mild: &'d [D],
    /// Most cases have none of these, which break a stream at once.
    pub harsh: &'d [D],
    /// How often an action is sometimes repeated.
    pub often: usize,
    pub random: fn(&mut H) -> &mut Random,
    pub commit: fn(&mut H, D),
    /// Called after each action.
    pub after: fn(&mut H),
}

/// Until it is killed.
pub fn rage<H, D: Copy>(hostile: &mut H, deeds: Deeds<'_, H, D>) -> ! {
    let random = (deeds.random)(hostile);
    let count = 2 + random.below(5);
    let mut chosen: Vec<D> = (0..count).map(|_| random.one_of(deeds.mild)).collect();
    if random.one_in(3) {
        chosen.push(random.one_of(deeds.harsh));
    }
    let pause_us = random.one_of(&[0, 5, 50, 300]);
    loop {
        let random = (deeds.random)(hostile);
        let deed = random.one_of(&chosen);
        let times = random.one_of(&[1, 1, 1, 1, 3, deeds.often]);
        for _ in 0..times {
            (deeds.commit)(hostile, deed);
        }
        (deeds.after)(hostile);
        std::thread::sleep(Duration::from_micros(pause_us));
    }
}
