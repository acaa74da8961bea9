//! `sys/log.h` and `sys/strlog.h`: the log driver's ioctls and messages.

use std::ffi::{c_char, c_int, c_short, c_uint, c_ushort};

constants! { STRLOG:
    SL_FATAL: c_ushort = 0x01;
    SL_NOTIFY: c_ushort = 0x02;
    SL_ERROR: c_ushort = 0x04;
    SL_TRACE: c_ushort = 0x08;
    SL_CONSOLE: c_ushort = 0x10;
    SL_WARN: c_ushort = 0x20;
    SL_NOTE: c_ushort = 0x40;
}

constants! { LOG:
    LOGCTL: u32 = (b'L' as u32) << 8;
    I_TRCLOG: u32 = LOGCTL | 1;
    I_ERRLOG: u32 = LOGCTL | 2;
    I_LOGLOST: u32 = LOGCTL | 0x80;
    LOGMAX: usize = 4072;
    LOGIDSMAX: usize = 64;
    LOG_MID: c_short = 44;
}

structures! { LOG_LAYOUTS:
    log_ctl {
        mid: c_short,
        sid: c_short,
        level: c_char,
        flags: c_ushort,
        ltime: c_uint,
        ttime: c_uint,
        seq_no: c_int,
        pri: c_int,
    }
    trace_ids {
        ti_mid: c_short,
        ti_sid: c_short,
        ti_level: c_char,
    }
}
