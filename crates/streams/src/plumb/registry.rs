//! Which modules this process knows, by name.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use super::module::{Module, NAME_MAX};
use crate::error::{Errno, Error, Result};
use crate::modules;

static KNOWN: RwLock<BTreeMap<&'static str, &'static dyn Module>> = RwLock::new(BTreeMap::new());

/// Makes a module known to this process, under the name that it says. Every process that uses a stream with that module
/// does so, before it writes or reads there. It stays known until the process ends.
///
/// # Errors
/// `EINVAL` for an empty or too long name; `EBUSY` for one that is taken.
pub fn register(module: impl Module + 'static) -> Result<()> {
    let name = module.info().name;
    if name.is_empty() || name.len() > NAME_MAX || name.contains('\0') {
        return Err(Error::new(Errno::Inval, format!("a module's name has 1 to {NAME_MAX} bytes, '{name}' has not")));
    }
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    if modules::find(name).is_some() || known.contains_key(name) {
        return Err(Error::new(Errno::Busy, format!("a module of the name '{name}' is known already")));
    }
    known.insert(name, Box::leak(Box::new(module)));
    Ok(())
}

/// The module of that name.
///
/// Errors: `EINVAL` if this process knows none; the message names those that it knows.
pub(crate) fn find(name: &str) -> Result<&'static dyn Module> {
    if let Some(module) = modules::find(name) {
        return Ok(module);
    }
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    known.get(name).copied().ok_or_else(|| {
        let names = modules::names().chain(known.keys().copied()).collect::<Vec<_>>().join(", ");
        Error::new(Errno::Inval, format!("no module of the name '{name}' is known to this process; known are {names}"))
    })
}
