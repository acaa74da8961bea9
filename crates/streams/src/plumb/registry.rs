//! The modules and drivers that this process knows, by name: those of streams, and those that it has registered, of which other crates of
//! ours bring some. Modules and drivers share one space of names.

use std::collections::BTreeMap;
use std::ptr;

use headwater_os::fork_mutex::ForkMutex;
use headwater_os::set_once::SetOnce;

use super::driver::{Driver, DriverInfo, DriverLink};
use super::module::{Module, ModuleInfo};
use crate::error::{Errno, Error, Result};
use crate::limits::{self, NAME_MAX};
use crate::{drivers, modules};

/// The modules and drivers that were registered beside those of [`modules`] and [`drivers`].
static KNOWN: ForkMutex<Known> = ForkMutex::new(Known { modules: BTreeMap::new(), drivers: BTreeMap::new() });

/// What [`set_module_resolver`] has set.
static RESOLVER: SetOnce<fn(&str) -> bool> = SetOnce::new();

/// The crates of ours that bring modules and drivers, and their names; see [`register_all`].
const CRATES: &[(&str, &[&str])] = &[("headwater-terminals", &["ldterm", "pckt", "ptem", "ptm", "pts"])];

/// What an error adds about an unknown name that a crate of ours brings.
fn advice(name: &str) -> Option<String> {
    let (package, _) = CRATES.iter().find(|(_, names)| names.contains(&name))?;
    Some(format!("'{name}' comes with the crate {package}: call {}::register() first", package.replace('-', "_")))
}

struct Known {
    modules: BTreeMap<&'static str, &'static dyn Module>,
    drivers: BTreeMap<&'static str, &'static DriverLink>,
}

impl Known {
    fn driver(&self, name: &str) -> Option<&'static DriverLink> {
        let has_it = |driver: &&&'static DriverLink| driver.0.info().second_name == Some(name);
        let own = || self.drivers.get(name).or_else(|| self.drivers.values().find(has_it)).copied();
        drivers::find(name).or_else(own)
    }

    fn module(&self, name: &str) -> Option<&'static dyn Module> {
        modules::find(name).or_else(|| self.modules.get(name).copied())
    }

    /// Whether the name may be registered.
    fn check_new(&self, name: &str) -> Result<()> {
        if name.is_empty() || name.len() > NAME_MAX || name.contains(['\0', '/']) || name.starts_with('.') {
            let why = format!(
                "a module's or driver's name has 1 to {NAME_MAX} bytes, no '/' and no '.' at its beginning, which '{name}' is not"
            );
            return Err(Error::new(Errno::Inval, why));
        }
        if limits::RESERVED_NAMES.contains(&name) {
            return Err(Error::new(
                Errno::Inval,
                format!("'{name}' is part of the paths of devices, and no driver's name"),
            ));
        }
        if self.module(name).is_some() || self.driver(name).is_some() {
            return Err(Error::new(Errno::Busy, format!("a module or driver of the name '{name}' is known already")));
        }
        Ok(())
    }

    /// Whether a module of that description may be registered.
    fn check_module(&self, info: ModuleInfo) -> Result<()> {
        let ModuleInfo { name, instance, .. } = info;
        if instance > limits::MODULE_INSTANCE_MAX {
            let why = format!("module '{name}' asks for more memory than MODULE_INSTANCE_MAX");
            return Err(Error::new(Errno::Inval, why));
        }
        self.check_new(name)
    }

    /// Whether a driver of that description may be registered.
    fn check_driver(&self, info: DriverInfo) -> Result<()> {
        self.check_new(info.name)?;
        info.second_name.map_or(Ok(()), |second| self.check_new(second))?;
        if !info.is_possible() {
            let name = info.name;
            let why =
                format!("driver '{name}' asks for more memory than INSTANCE_MAX, or for files beside a second name");
            return Err(Error::new(Errno::Inval, why));
        }
        Ok(())
    }
}

/// Makes a module known to this process, under the name of its description. Every process that uses a stream with that
/// module does so, before it writes or reads there. It stays known until the process ends.
///
/// # Errors
/// `EINVAL` for an empty or too long name, or more memory than
/// [`limits::MODULE_INSTANCE_MAX`](crate::limits::MODULE_INSTANCE_MAX); `EBUSY` for a name that is taken.
#[doc = include_str!("../../doc/queue_put.md")]
pub fn register(module: impl Module + 'static) -> Result<()> {
    KNOWN.with(|known| {
        known.check_module(module.info())?;
        known.modules.insert(module.info().name, Box::leak(Box::new(module)));
        Ok(())
    })
}

/// Makes a driver known to this process, under the name of its description. Every process that opens its devices does
/// so before. It stays known until the process ends.
///
/// # Errors
/// `EINVAL` for an empty, too long or [reserved](crate::limits::RESERVED_NAMES) name, more memory than
/// [`limits::INSTANCE_MAX`](crate::limits::INSTANCE_MAX), or files beside a [second name](crate::DriverInfo::pairs_with); `EBUSY` for
/// a name that is taken.
#[doc = include_str!("../../doc/driver.md")]
pub fn register_driver(driver: impl Driver + 'static) -> Result<()> {
    KNOWN.with(|known| {
        known.check_driver(driver.info())?;
        let link = DriverLink(Box::leak(Box::new(driver)));
        known.drivers.insert(link.0.info().name, Box::leak(Box::new(link)));
        Ok(())
    })
}

/// Makes the modules and drivers of a crate known to this process, as [`register`] and [`register_driver`] do: all of them, or none. Those
/// that it has registered already stay, so a crate offers this as one call that its users may make as often as they like.
///
/// # Errors
/// Those of [`register`] and [`register_driver`]; `EBUSY` for the name of another module or driver.
///
/// ```
/// use headwater_streams::{Module, ModuleInfo, Result, pipe, register_all};
///
/// #[derive(Debug)]
/// struct Through;
///
/// impl Module for Through {
///     fn info(&self) -> ModuleInfo {
///         ModuleInfo::new("through")
///     }
/// }
///
/// static MODULES: &[&dyn Module] = &[&Through];
///
/// pub fn register() -> Result<()> {
///     register_all(MODULES, &[])
/// }
///
/// register()?;
/// register()?;
/// let (near, _far) = pipe()?;
/// near.push("through")?;
/// # Ok::<(), headwater_streams::Error>(())
/// ```
pub fn register_all(modules: &[&'static dyn Module], drivers: &[&'static dyn Driver]) -> Result<()> {
    KNOWN.with(|known| {
        let is_new = |module: &&&'static dyn Module| {
            known.modules.get(module.info().name).is_none_or(|known| !is_same(*known, **module))
        };
        let new_modules: Vec<_> = modules.iter().filter(is_new).collect();
        let is_new = |driver: &&&'static dyn Driver| {
            known.drivers.get(driver.info().name).is_none_or(|known| !is_same(known.0, **driver))
        };
        let new_drivers: Vec<_> = drivers.iter().filter(is_new).collect();
        new_modules.iter().try_for_each(|module| known.check_module(module.info()))?;
        new_drivers.iter().try_for_each(|driver| known.check_driver(driver.info()))?;
        known.modules.extend(new_modules.into_iter().map(|module| (module.info().name, *module)));
        for driver in new_drivers {
            known.drivers.insert(driver.info().name, Box::leak(Box::new(DriverLink(*driver))));
        }
        Ok(())
    })
}

/// Whether both are the same module or driver. Types without fields may have one address, so the code is compared too: both pointers are
/// those of one table.
fn is_same<T: ?Sized>(one: &'static T, other: &'static T) -> bool {
    ptr::eq(one, other)
}

/// The names of the modules that this process knows: those of the library, then those that it has registered.
///
/// ```
/// assert!(headwater_streams::known_modules().contains(&"nullmod"));
/// ```
pub fn known_modules() -> Vec<&'static str> {
    KNOWN.with(|known| modules::names().chain(known.modules.keys().copied()).collect())
}

/// The names of the drivers that this process knows: those of the library, then those that it has registered.
///
/// ```
/// assert!(headwater_streams::known_drivers().contains(&"echo"));
/// ```
pub fn known_drivers() -> Vec<&'static str> {
    KNOWN.with(|known| drivers::names().chain(known.drivers.keys().copied()).collect())
}

/// Has `resolver` called with each name of a module or driver that this process does not know. It may then [`register`] the module
/// or the driver, and returns whether it has; it is called again for a name that stays unknown. The first resolver stays; returns
/// whether this one is it.
///
/// Names come from streams, and so from other users: the resolver decides what may be loaded under which name. It is called within
/// calls on streams, under their locks, and must not use a stream.
///
/// ```
/// use headwater_streams::{Module, ModuleInfo, register, set_module_resolver};
///
/// #[derive(Debug)]
/// struct Late;
///
/// impl Module for Late {
///     fn info(&self) -> ModuleInfo {
///         ModuleInfo::new("late")
///     }
/// }
///
/// assert!(set_module_resolver(|name| name == "late" && register(Late).is_ok()));
/// let (near, _far) = headwater_streams::pipe()?;
/// near.push("late")?;
/// assert!(near.push("other").is_err());
/// # Ok::<(), headwater_streams::Error>(())
/// ```
pub fn set_module_resolver(resolver: fn(&str) -> bool) -> bool {
    ptr::fn_addr_eq(*RESOLVER.set(resolver), resolver)
}

/// Looks a name up, and again if the resolver has made it known.
fn look_up<T>(name: &str, find: impl Fn(&Known) -> Option<T>, why: impl FnOnce(&Known) -> Error) -> Result<T> {
    let (found, is_taken) =
        KNOWN.with(|known| (find(known), known.module(name).is_some() || known.driver(name).is_some()));
    if let Some(found) = found {
        return Ok(found);
    }
    // Not under the lock: the resolver registers.
    if !is_taken
        && RESOLVER.get().is_some_and(|resolver| resolver(name))
        && let Some(found) = KNOWN.with(|known| find(known))
    {
        return Ok(found);
    }
    Err(KNOWN.with(|known| why(known)))
}

/// The module of that name.
///
/// Errors: `EINVAL` if this process knows none; the message names those that it knows.
pub(crate) fn find(name: &str) -> Result<&'static dyn Module> {
    look_up(
        name,
        |known| known.module(name),
        |known| {
            if known.driver(name).is_some() {
                return Error::new(
                    Errno::Inval,
                    format!("'{name}' is a driver: it is opened, and no module to be pushed"),
                );
            }
            let names = || modules::names().chain(known.modules.keys().copied()).collect::<Vec<_>>().join(", ");
            let advice = advice(name).unwrap_or_else(|| format!("known are {}", names()));
            Error::new(Errno::Inval, format!("no module of the name '{name}' is known to this process; {advice}"))
        },
    )
}

/// The driver of that name.
///
/// Errors: `EINVAL` if this process knows none; the message names those that it knows.
pub(crate) fn find_driver(name: &str) -> Result<&'static DriverLink> {
    look_up(
        name,
        |known| known.driver(name),
        |known| {
            let names = || drivers::names().chain(known.drivers.keys().copied()).collect::<Vec<_>>().join(", ");
            let advice = advice(name).unwrap_or_else(|| format!("known are {}", names()));
            Error::new(Errno::Inval, format!("no driver of the name '{name}' is known to this process; {advice}"))
        },
    )
}
