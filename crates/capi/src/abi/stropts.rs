//! `sys/stropts.h`: the ioctls of streams, their arguments and flags.

use std::ffi::{c_char, c_int, c_long, c_uchar, c_ulong};

use libc::{gid_t, pid_t, uid_t};

const SID: c_ulong = (b'S' as c_ulong) << 8;

constants! { STROPTS:
    FMNAMESZ: usize = 8;
    I_NREAD: c_ulong = SID | 1;
    I_PUSH: c_ulong = SID | 2;
    I_POP: c_ulong = SID | 3;
    I_LOOK: c_ulong = SID | 4;
    I_FLUSH: c_ulong = SID | 5;
    I_SRDOPT: c_ulong = SID | 6;
    I_GRDOPT: c_ulong = SID | 7;
    I_STR: c_ulong = SID | 8;
    I_SETSIG: c_ulong = SID | 9;
    I_GETSIG: c_ulong = SID | 10;
    I_FIND: c_ulong = SID | 11;
    I_LINK: c_ulong = SID | 12;
    I_UNLINK: c_ulong = SID | 13;
    I_RECVFD: c_ulong = SID | 14;
    I_PEEK: c_ulong = SID | 15;
    I_FDINSERT: c_ulong = SID | 16;
    I_SENDFD: c_ulong = SID | 17;
    I_E_RECVFD: c_ulong = SID | 18;
    I_SWROPT: c_ulong = SID | 19;
    I_GWROPT: c_ulong = SID | 20;
    I_LIST: c_ulong = SID | 21;
    I_PLINK: c_ulong = SID | 22;
    I_PUNLINK: c_ulong = SID | 23;
    I_ANCHOR: c_ulong = SID | 24;
    I_FLUSHBAND: c_ulong = SID | 28;
    I_CKBAND: c_ulong = SID | 29;
    I_GETBAND: c_ulong = SID | 30;
    I_ATMARK: c_ulong = SID | 31;
    I_SETCLTIME: c_ulong = SID | 32;
    I_GETCLTIME: c_ulong = SID | 33;
    I_CANPUT: c_ulong = SID | 34;
    I_SERROPT: c_ulong = SID | 35;
    I_GERROPT: c_ulong = SID | 36;
    I_ESETSIG: c_ulong = SID | 37;
    I_EGETSIG: c_ulong = SID | 38;
    I_GETPMSG: c_ulong = SID | 42;
    I_PUTPMSG: c_ulong = SID | 43;
    I_PIPE: c_ulong = SID | 44;
    I_ISASTREAM: c_ulong = SID | 46;
    I_FATTACH: c_ulong = SID | 52;
    I_FDETACH: c_ulong = SID | 53;
    I_SET_HIWAT: c_ulong = SID | 91;
    I_SET_LOWAT: c_ulong = SID | 92;
    I_GET_HIWAT: c_ulong = SID | 97;
    I_GET_LOWAT: c_ulong = SID | 98;
    RNORM: c_int = 0x00;
    RMSGD: c_int = 0x01;
    RMSGN: c_int = 0x02;
    RMODEMASK: c_int = 0x03;
    RPROTDAT: c_int = 0x04;
    RPROTDIS: c_int = 0x08;
    RPROTNORM: c_int = 0x10;
    RFILL: c_int = 0x20;
    SNDZERO: c_int = 0x01;
    SNDPIPE: c_int = 0x02;
    SNDHOLD: c_int = 0x04;
    SNDDELIM: c_int = 0x08;
    SNDMREAD: c_int = 0x10;
    RERRNORM: c_int = 0x00;
    RERRNONPERSIST: c_int = 0x01;
    WERRNORM: c_int = 0x00;
    WERRNONPERSIST: c_int = 0x02;
    FLUSHR: c_int = 0x01;
    FLUSHW: c_int = 0x02;
    FLUSHRW: c_int = 0x03;
    FLUSHBAND: c_int = 0x04;
    S_INPUT: c_int = 0x0001;
    S_HIPRI: c_int = 0x0002;
    S_OUTPUT: c_int = 0x0004;
    S_MSG: c_int = 0x0008;
    S_ERROR: c_int = 0x0010;
    S_HANGUP: c_int = 0x0020;
    S_RDNORM: c_int = 0x0040;
    S_WRNORM: c_int = S_OUTPUT;
    S_RDBAND: c_int = 0x0080;
    S_WRBAND: c_int = 0x0100;
    S_BANDURG: c_int = 0x0200;
    RS_HIPRI: c_int = 0x01;
    MSG_HIPRI: c_int = 0x01;
    MSG_ANY: c_int = 0x02;
    MSG_BAND: c_int = 0x04;
    MORECTL: c_int = 1;
    MOREDATA: c_int = 2;
    MUXID_ALL: c_int = -1;
    ANYBAND: c_int = -1;
    ANYMARK: c_int = 0x01;
    LASTMARK: c_int = 0x02;
    INFTIM: c_int = -1;
}

structures! { STROPTS_LAYOUTS:
    strbuf {
        maxlen: c_int,
        len: c_int,
        buf: *mut c_char,
    }
    strpeek {
        ctlbuf: strbuf,
        databuf: strbuf,
        flags: c_long,
    }
    strfdinsert {
        ctlbuf: strbuf,
        databuf: strbuf,
        flags: c_long,
        fildes: c_int,
        offset: c_int,
    }
    strioctl {
        ic_cmd: c_int,
        ic_timout: c_int,
        ic_len: c_int,
        ic_dp: *mut c_char,
    }
    strrecvfd {
        fd: c_int,
        uid: uid_t,
        gid: gid_t,
        fill: [c_char; 8],
    }
    str_mlist {
        l_name: [c_char; FMNAMESZ + 1],
    }
    str_list {
        sl_nmods: c_int,
        sl_modlist: *mut str_mlist,
    }
    bandinfo {
        bi_pri: c_uchar,
        bi_flag: c_int,
    }
    strsigset {
        ss_pid: pid_t,
        ss_events: c_int,
    }
    strpmsg {
        ctlbuf: strbuf,
        databuf: strbuf,
        band: c_int,
        flags: c_int,
    }
}

// The sizes that binaries for LP64 System V have.
const _: () = {
    assert!(size_of::<strbuf>() == 16 && size_of::<strpeek>() == 40 && size_of::<strfdinsert>() == 48);
    assert!(size_of::<strioctl>() == 24 && size_of::<strrecvfd>() == 20 && size_of::<bandinfo>() == 8);
    assert!(size_of::<str_mlist>() == 9 && size_of::<str_list>() == 16);
};
