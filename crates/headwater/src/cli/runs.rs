//! Reads the runs that a user names, for every subcommand that prints or compares them.

use super::output::note;
use crate::sources::{self, Loaded};

/// Reads runs, and says on standard error what of them could not be read.
pub(super) fn load(names: &[String]) -> anyhow::Result<Loaded> {
    let loaded = sources::load_all(names)?;
    loaded.torn.iter().for_each(|torn| note!("headwater: {torn}"));
    Ok(loaded)
}
