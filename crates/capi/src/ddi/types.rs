//! The structures of `include/sys/stream.h`. `tests/ddi` compares their sizes and offsets with the header.

use std::ffi::{c_char, c_int, c_long, c_short, c_uchar, c_uint, c_ushort, c_void};
use std::ptr;

/// A put procedure, which may be missing.
pub type PutProcedure = Option<unsafe extern "C" fn(*mut CQueue, *mut Mblk) -> c_int>;
pub type ServiceProcedure = Option<unsafe extern "C" fn(*mut CQueue) -> c_int>;
pub type OpenProcedure =
    Option<unsafe extern "C" fn(*mut CQueue, *mut libc::dev_t, c_int, c_int, *mut Credentials) -> c_int>;
pub type CloseProcedure = Option<unsafe extern "C" fn(*mut CQueue, c_int, *mut Credentials) -> c_int>;

/// cred_t.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Credentials {
    pub user: libc::uid_t,
    pub group: libc::gid_t,
    pub real_user: libc::uid_t,
    pub real_group: libc::gid_t,
}

impl Credentials {
    /// Returns the credentials of this process.
    pub fn own() -> Credentials {
        // SAFETY: these calls take no argument and cannot fail.
        unsafe {
            Credentials {
                user: libc::geteuid(),
                group: libc::getegid(),
                real_user: libc::getuid(),
                real_group: libc::getgid(),
            }
        }
    }
}

/// frtn_t.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct FreeRoutine {
    pub function: Option<unsafe extern "C" fn(*mut c_char)>,
    pub argument: *mut c_char,
}

/// dblk_t. `references` is changed only by atomic operations.
#[repr(C)]
#[derive(Debug)]
pub struct Dblk {
    pub free_routine: *mut FreeRoutine,
    pub base: *mut u8,
    pub lim: *mut u8,
    pub references: c_uint,
    pub kind: c_uchar,
    pub flags: c_uchar,
    /// The allocation that holds the data block.
    pub home: *mut c_void,
}

/// mblk_t.
#[repr(C)]
#[derive(Debug)]
pub struct Mblk {
    pub next: *mut Mblk,
    pub prev: *mut Mblk,
    pub cont: *mut Mblk,
    pub rptr: *mut u8,
    pub wptr: *mut u8,
    pub datap: *mut Dblk,
    pub band: c_uchar,
    pub tag: c_uchar,
    pub flag: c_ushort,
    /// The allocation that holds the block; null if the block is an allocation of its own.
    pub home: *mut c_void,
}

/// `b_flag`.
pub const MSGMARK: c_ushort = 0x01;
pub const MSGNOLOOP: c_ushort = 0x02;
pub const MSGDELIM: c_ushort = 0x04;
/// The library's own flag: the message is bytes of a write, without boundaries.
pub const MSG_PLAIN: c_ushort = 0x4000;
/// The library's own flag: the block is a control part of a type other than M_PROTO.
pub const MSG_CONTROL: c_ushort = 0x8000;

/// module_info.
#[repr(C)]
#[derive(Debug)]
pub struct CModuleInfo {
    pub number: c_ushort,
    pub name: *const c_char,
    pub minpsz: isize,
    pub maxpsz: isize,
    pub hiwat: usize,
    pub lowat: usize,
}

/// qinit.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Qinit {
    pub put: PutProcedure,
    pub service: ServiceProcedure,
    pub open: OpenProcedure,
    pub close: CloseProcedure,
    pub admin: Option<unsafe extern "C" fn() -> c_int>,
    pub info: *mut CModuleInfo,
    pub statistics: *mut c_void,
}

/// streamtab.
#[repr(C)]
#[derive(Debug)]
pub struct Streamtab {
    pub read: *mut Qinit,
    pub write: *mut Qinit,
    pub lower_read: *mut Qinit,
    pub lower_write: *mut Qinit,
}

/// queue_t.
#[repr(C)]
#[derive(Debug)]
pub struct CQueue {
    pub qinfo: *mut Qinit,
    pub first: *mut Mblk,
    pub last: *mut Mblk,
    pub next: *mut CQueue,
    pub link: *mut CQueue,
    pub ptr: *mut c_void,
    pub count: usize,
    pub flag: c_uint,
    pub minpsz: isize,
    pub maxpsz: isize,
    pub hiwat: usize,
    pub lowat: usize,
    /// The `Pair` that the queue is a part of.
    pub home: *mut c_void,
}

/// `q_flag`.
pub const QREADR: c_uint = 0x010;
pub const QUSE: c_uint = 0x020;
pub const QNOENB: c_uint = 0x040;

/// `sflag` of an open procedure.
pub const DRVOPEN: c_int = 0;
pub const MODOPEN: c_int = 1;
pub const CLONEOPEN: c_int = 2;
/// A bit of `NAMEdevflag`: the object is a driver.
pub const D_DEVICE: c_int = 0x10000;

/// iocblk.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Iocblk {
    pub command: c_int,
    pub credentials: *mut Credentials,
    pub id: c_uint,
    pub count: usize,
    pub error: c_int,
    pub value: c_int,
    pub fill: c_int,
    pub flag: c_uint,
    /// Makes the structure as long as the other two, so that a module that turns one into another need not change its
    /// length.
    pub fill2: c_long,
}

/// copyreq.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CopyRequest {
    pub command: c_int,
    pub credentials: *mut Credentials,
    pub id: c_uint,
    pub address: *mut c_void,
    pub size: usize,
    pub flag: c_uint,
    pub private: *mut Mblk,
}

/// copyresp.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CopyResponse {
    pub command: c_int,
    pub credentials: *mut Credentials,
    pub id: c_uint,
    pub error: *mut c_void,
    pub pad: usize,
    pub pad2: c_uint,
    pub private: *mut Mblk,
}

/// stroptions.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct StreamOptions {
    pub flags: c_uint,
    pub read: c_short,
    pub write_offset: c_ushort,
    pub minpsz: isize,
    pub maxpsz: isize,
    pub hiwat: usize,
    pub lowat: usize,
    pub band: c_uchar,
    pub errors: c_ushort,
    pub block_max: isize,
}

pub const SO_READOPT: c_uint = 0x0001;
pub const SO_MINPSZ: c_uint = 0x0004;
pub const SO_MAXPSZ: c_uint = 0x0008;
pub const SO_HIWAT: c_uint = 0x0010;
pub const SO_LOWAT: c_uint = 0x0020;
pub const SO_MREADON: c_uint = 0x0040;
pub const SO_MREADOFF: c_uint = 0x0080;

impl CQueue {
    pub const fn empty() -> CQueue {
        CQueue {
            qinfo: ptr::null_mut(),
            first: ptr::null_mut(),
            last: ptr::null_mut(),
            next: ptr::null_mut(),
            link: ptr::null_mut(),
            ptr: ptr::null_mut(),
            count: 0,
            flag: 0,
            minpsz: 0,
            maxpsz: 0,
            hiwat: 0,
            lowat: 0,
            home: ptr::null_mut(),
        }
    }
}

/// Returns sizes and offsets by the names of the header. `tests/ddi` prints the same list from C.
pub fn layouts() -> Vec<(&'static str, usize)> {
    use std::mem::offset_of;
    vec![
        ("mblk_t", size_of::<Mblk>()),
        ("b_datap", offset_of!(Mblk, datap)),
        ("b_flag", offset_of!(Mblk, flag)),
        ("dblk_t", size_of::<Dblk>()),
        ("db_ref", offset_of!(Dblk, references)),
        ("db_type", offset_of!(Dblk, kind)),
        ("queue_t", size_of::<CQueue>()),
        ("q_ptr", offset_of!(CQueue, ptr)),
        ("q_flag", offset_of!(CQueue, flag)),
        ("q_lowat", offset_of!(CQueue, lowat)),
        ("qinit", size_of::<Qinit>()),
        ("qi_minfo", offset_of!(Qinit, info)),
        ("module_info", size_of::<CModuleInfo>()),
        ("mi_lowat", offset_of!(CModuleInfo, lowat)),
        ("streamtab", size_of::<Streamtab>()),
        ("iocblk", size_of::<Iocblk>()),
        ("ioc_rval", offset_of!(Iocblk, value)),
        ("copyreq", size_of::<CopyRequest>()),
        ("cq_private", offset_of!(CopyRequest, private)),
        ("copyresp", size_of::<CopyResponse>()),
        ("cp_rval", offset_of!(CopyResponse, error)),
        ("cp_private", offset_of!(CopyResponse, private)),
        ("stroptions", size_of::<StreamOptions>()),
        ("so_hiwat", offset_of!(StreamOptions, hiwat)),
        ("so_maxblk", offset_of!(StreamOptions, block_max)),
        ("cred_t", size_of::<Credentials>()),
        ("frtn_t", size_of::<FreeRoutine>()),
    ]
}
