//! `sys/ptms.h`: the ioctls of the master side of a pseudo-terminal.

constants! { PTMS:
    PTMIOC: u32 = (b'P' as u32) << 8;
    ISPTM: u32 = PTMIOC | 1;
    UNLKPT: u32 = PTMIOC | 2;
    ZONEPT: u32 = PTMIOC | 4;
    PT_OWNER: u32 = PTMIOC | 5;
    OWNERPT: u32 = PTMIOC | 6;
}
