//! `sys/ptms.h`: the ioctls of the master side of a pseudo-terminal.

constants! { PTMS:
    PTMIOC: u32 = (b'P' as u32) << 8;
    ISPTM: u32 = PTMIOC | 1;
    UNLKPT: u32 = PTMIOC | 2;
}
