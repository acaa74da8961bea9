//! `sys/strconf.h`: limits and defaults, which are those of [`headwater_streams::limits`].

use headwater_streams::limits;

constants! { STRCONF:
    NSTRPUSH: usize = limits::NSTRPUSH;
    STRMSGSZ: u32 = limits::STRMSGSZ;
    STRCTLSZ: u32 = limits::STRCTLSZ;
    STRMAXPSZ: u32 = limits::MAXPSZ;
    STRHIGH: u32 = limits::HIWAT;
    STRLOW: u32 = limits::LOWAT;
    MODHIGH: u32 = limits::MODULE_HIWAT;
    MODLOW: u32 = limits::MODULE_LOWAT;
    NBANDS: usize = limits::BANDS;
    STRCLTIME: u32 = limits::CLOSE_MS;
    STRIOCTIME: u64 = limits::IOCTL_TIMEOUT_S;
    STRHOLDTIME: u64 = limits::HOLD_MS;
    NSTRSIG: usize = limits::LISTENERS;
    NSTRLINK: usize = limits::LINKS;
    NSTRMINOR: u32 = limits::MINORS;
}
