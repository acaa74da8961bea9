//! `sys/bufmod.h`: the ioctls and headers of `bufmod`.

use std::ffi::c_uint;

constants! { BUFMOD:
    SBIOC: u32 = (b'B' as u32) << 8;
    SBIOCSTIME: u32 = SBIOC | 1;
    SBIOCGTIME: u32 = SBIOC | 2;
    SBIOCCTIME: u32 = SBIOC | 3;
    SBIOCSCHUNK: u32 = SBIOC | 4;
    SBIOCGCHUNK: u32 = SBIOC | 5;
    SBIOCSSNAP: u32 = SBIOC | 6;
    SBIOCGSNAP: u32 = SBIOC | 7;
    SBIOCSFLAGS: u32 = SBIOC | 8;
    SBIOCGFLAGS: u32 = SBIOC | 9;
    SB_SEND_ON_WRITE: c_uint = 0x01;
    SB_NO_HEADER: c_uint = 0x02;
    SB_NO_PROTO_CVT: c_uint = 0x04;
    SB_DEFER_CHUNK: c_uint = 0x08;
    SB_NO_DROPS: c_uint = 0x10;
}

structures! { BUFMOD_LAYOUTS:
    sb_time {
        tv_sec: c_uint,
        tv_usec: c_uint,
    }
    sb_hdr {
        sbh_origlen: c_uint,
        sbh_msglen: c_uint,
        sbh_totlen: c_uint,
        sbh_drops: c_uint,
        sbh_timestamp: sb_time,
    }
}
