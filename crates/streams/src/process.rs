//! A stream in a process: its memory, its descriptors, and how the process sleeps and is woken.

pub(crate) mod address;
pub(crate) mod autopush;
pub(crate) mod beyond;
pub(crate) mod directory;
pub(crate) mod driver_files;
pub(crate) mod driver_info;
pub(crate) mod end;
pub(crate) mod end_state;
pub(crate) mod endpoint;
pub(crate) mod file_kind;
pub(crate) mod inbox;
pub(crate) mod instances;
pub(crate) mod listeners;
pub(crate) mod local;
pub(crate) mod name;
pub(crate) mod opened;
pub(crate) mod region;
pub(crate) mod sleep;
pub(crate) mod sleep_check;
pub(crate) mod slot_name;
pub(crate) mod witness;
