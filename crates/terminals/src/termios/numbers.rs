//! Linux's numbers of a terminal: modes, places of control characters, ioctls (termios(3), ioctl_tty(2)).

#![allow(missing_docs, reason = "each name is the one of termios(3) and ioctl_tty(2)")]

// Input modes (c_iflag).
pub const IGNBRK: u32 = 0o1;
pub const BRKINT: u32 = 0o2;
/// Kept, without an effect.
pub const PARMRK: u32 = 0o10;
pub const ISTRIP: u32 = 0o40;
pub const INLCR: u32 = 0o100;
pub const IGNCR: u32 = 0o200;
pub const ICRNL: u32 = 0o400;
pub const IUCLC: u32 = 0o1000;
pub const IXON: u32 = 0o2000;
pub const IXANY: u32 = 0o4000;
pub const IXOFF: u32 = 0o10000;
pub const IMAXBEL: u32 = 0o20000;
pub const IUTF8: u32 = 0o40000;

// Output modes (c_oflag).
pub const OPOST: u32 = 0o1;
pub const OLCUC: u32 = 0o2;
pub const ONLCR: u32 = 0o4;
pub const OCRNL: u32 = 0o10;
pub const ONOCR: u32 = 0o20;
pub const ONLRET: u32 = 0o40;
/// Tabs are sent as spaces; the mask of tab delays is the same.
pub const XTABS: u32 = 0o14000;

// Control modes (c_cflag).
pub const CS8: u32 = 0o60;
pub const CREAD: u32 = 0o200;
pub const B38400: u32 = 0o17;

// Local modes (c_lflag).
pub const ISIG: u32 = 0o1;
pub const ICANON: u32 = 0o2;
pub const ECHO: u32 = 0o10;
pub const ECHOE: u32 = 0o20;
pub const ECHOK: u32 = 0o40;
pub const ECHONL: u32 = 0o100;
pub const NOFLSH: u32 = 0o200;
pub const ECHOCTL: u32 = 0o1000;
pub const ECHOKE: u32 = 0o4000;
pub const IEXTEN: u32 = 0o100000;

// Places in c_cc.
pub const VINTR: usize = 0;
pub const VQUIT: usize = 1;
pub const VERASE: usize = 2;
pub const VKILL: usize = 3;
pub const VEOF: usize = 4;
pub const VTIME: usize = 5;
pub const VMIN: usize = 6;
pub const VSTART: usize = 8;
pub const VSTOP: usize = 9;
pub const VSUSP: usize = 10;
pub const VEOL: usize = 11;
pub const VREPRINT: usize = 12;
pub const VDISCARD: usize = 13;
pub const VWERASE: usize = 14;
pub const VLNEXT: usize = 15;
pub const VEOL2: usize = 16;

// Ioctls.
pub const TCGETS: u32 = 0x5401;
pub const TCSETS: u32 = 0x5402;
pub const TCSETSW: u32 = 0x5403;
pub const TCSETSF: u32 = 0x5404;
pub const TCGETA: u32 = 0x5405;
pub const TCSETA: u32 = 0x5406;
pub const TCSETAW: u32 = 0x5407;
pub const TCSETAF: u32 = 0x5408;
pub const TCSBRK: u32 = 0x5409;
pub const TCXONC: u32 = 0x540A;
pub const TCFLSH: u32 = 0x540B;
pub const TIOCGWINSZ: u32 = 0x5413;
pub const TIOCSWINSZ: u32 = 0x5414;
pub const TCSBRKP: u32 = 0x5425;
pub const TCGETS2: u32 = 0x802C_542A;
pub const TCSETS2: u32 = 0x402C_542B;
pub const TCSETSW2: u32 = 0x402C_542C;
pub const TCSETSF2: u32 = 0x402C_542D;
/// Sends a signal to the terminal, from the master's side.
pub const TIOCSIG: u32 = 0x4004_5436;

// Signals.
pub const SIGINT: u8 = 2;
pub const SIGQUIT: u8 = 3;
pub const SIGTSTP: u8 = 20;
pub const SIGWINCH: u8 = 28;
