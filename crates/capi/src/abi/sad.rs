//! `sys/sad.h`: the administrative driver's ioctls (autopush).

use std::ffi::{c_char, c_uint, c_ulong};

use super::FMNAMESZ;

constants! { SAD:
    SADIOC: c_ulong = (b'D' as c_ulong) << 8;
    SAD_SAP: c_ulong = SADIOC | 1;
    SAD_GAP: c_ulong = SADIOC | 2;
    SAD_VML: c_ulong = SADIOC | 3;
    SAP_CLEAR: c_uint = 0;
    SAP_ONE: c_uint = 1;
    SAP_RANGE: c_uint = 2;
    SAP_ALL: c_uint = 3;
    MAXAPUSH: usize = 8;
}

structures! { SAD_LAYOUTS:
    strapush {
        sap_cmd: c_uint,
        sap_major: c_uint,
        sap_minor: c_uint,
        sap_lastminor: c_uint,
        sap_npush: c_uint,
        sap_list: [[c_char; FMNAMESZ + 1]; MAXAPUSH],
    }
}
