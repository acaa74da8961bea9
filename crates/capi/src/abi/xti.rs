//! `xti.h`: XTI's numbers and structures.

use std::ffi::{c_int, c_uint, c_void};

constants! { XTI:
    TBADADDR: c_int = 1;
    TBADOPT: c_int = 2;
    TACCES: c_int = 3;
    TBADF: c_int = 4;
    TNOADDR: c_int = 5;
    TOUTSTATE: c_int = 6;
    TBADSEQ: c_int = 7;
    TSYSERR: c_int = 8;
    TLOOK: c_int = 9;
    TBADDATA: c_int = 10;
    TBUFOVFLW: c_int = 11;
    TFLOW: c_int = 12;
    TNODATA: c_int = 13;
    TNODIS: c_int = 14;
    TNOUDERR: c_int = 15;
    TBADFLAG: c_int = 16;
    TNOREL: c_int = 17;
    TNOTSUPPORT: c_int = 18;
    TSTATECHNG: c_int = 19;
    TNOSTRUCTYPE: c_int = 20;
    TBADNAME: c_int = 21;
    TBADQLEN: c_int = 22;
    TADDRBUSY: c_int = 23;
    TINDOUT: c_int = 24;
    TPROVMISMATCH: c_int = 25;
    TRESQLEN: c_int = 26;
    TRESADDR: c_int = 27;
    TQFULL: c_int = 28;
    TPROTO: c_int = 29;
    T_LISTEN: c_int = 0x0001;
    T_CONNECT: c_int = 0x0002;
    T_DATA: c_int = 0x0004;
    T_EXDATA: c_int = 0x0008;
    T_DISCONNECT: c_int = 0x0010;
    T_UDERR: c_int = 0x0040;
    T_ORDREL: c_int = 0x0080;
    T_GODATA: c_int = 0x0100;
    T_GOEXDATA: c_int = 0x0200;
    T_MORE: c_int = 0x001;
    T_EXPEDITED: c_int = 0x002;
    T_PUSH: c_int = 0x004;
    T_NEGOTIATE: c_int = 0x004;
    T_CHECK: c_int = 0x008;
    T_DEFAULT: c_int = 0x010;
    T_SUCCESS: c_int = 0x020;
    T_FAILURE: c_int = 0x040;
    T_CURRENT: c_int = 0x080;
    T_PARTSUCCESS: c_int = 0x100;
    T_READONLY: c_int = 0x200;
    T_NOTSUPPORT: c_int = 0x400;
    T_BIND: c_int = 1;
    T_OPTMGMT: c_int = 2;
    T_CALL: c_int = 3;
    T_DIS: c_int = 4;
    T_UNITDATA: c_int = 5;
    T_UDERROR: c_int = 6;
    T_INFO: c_int = 7;
    T_ADDR: c_int = 0x01;
    T_OPT: c_int = 0x02;
    T_UDATA: c_int = 0x04;
    T_ALL: c_int = 0xffff;
    T_COTS: c_int = 1;
    T_COTS_ORD: c_int = 2;
    T_CLTS: c_int = 3;
    T_SENDZERO: c_int = 0x001;
    T_ORDRELDATA: c_int = 0x002;
    T_INFINITE: c_int = -1;
    T_INVALID: c_int = -2;
    T_UNINIT: c_int = 0;
    T_UNBND: c_int = 1;
    T_IDLE: c_int = 2;
    T_OUTCON: c_int = 3;
    T_INCON: c_int = 4;
    T_DATAXFER: c_int = 5;
    T_OUTREL: c_int = 6;
    T_INREL: c_int = 7;
    T_YES: c_int = 1;
    T_NO: c_int = 0;
    T_GARBAGE: c_int = 2;
    T_UNUSED: c_int = -1;
    T_NULL: c_int = 0;
    T_ABSREQ: c_int = 0x8000;
    T_UNSPEC: c_int = !0 - 2;
    T_ALLOPT: c_int = 0;
    XTI_GENERIC: c_int = 0xffff;
    XTI_DEBUG: c_int = 0x0001;
    XTI_LINGER: c_int = 0x0080;
    XTI_RCVBUF: c_int = 0x1002;
    XTI_RCVLOWAT: c_int = 0x1004;
    XTI_SNDBUF: c_int = 0x1001;
    XTI_SNDLOWAT: c_int = 0x1003;
    T_IOV_MAX: c_int = 16;
}

structures! { XTI_LAYOUTS:
    netbuf {
        maxlen: c_uint,
        len: c_uint,
        buf: *mut c_void,
    }
    t_info {
        addr: c_int,
        options: c_int,
        tsdu: c_int,
        etsdu: c_int,
        connect: c_int,
        discon: c_int,
        servtype: c_int,
        flags: c_int,
    }
    t_bind {
        addr: netbuf,
        qlen: c_uint,
    }
    t_optmgmt {
        opt: netbuf,
        flags: c_int,
    }
    t_discon {
        udata: netbuf,
        reason: c_int,
        sequence: c_int,
    }
    t_call {
        addr: netbuf,
        opt: netbuf,
        udata: netbuf,
        sequence: c_int,
    }
    t_unitdata {
        addr: netbuf,
        opt: netbuf,
        udata: netbuf,
    }
    t_uderr {
        addr: netbuf,
        opt: netbuf,
        error: c_int,
    }
    t_opthdr {
        len: c_uint,
        level: c_uint,
        name: c_uint,
        status: c_uint,
    }
    t_iovec {
        iov_base: *mut c_void,
        iov_len: usize,
    }
    t_kpalive {
        kp_onoff: c_int,
        kp_timeout: c_int,
    }
    t_linger {
        l_onoff: c_int,
        l_linger: c_int,
    }
}
