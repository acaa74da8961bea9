//! `sys/tpi.h`, `sys/timod.h`, `sys/sockmod.h`, `tiuser.h`, `xti_inet.h`: the small headers of transports.

use std::ffi::c_int;

constants! { TPI:
    TC1_INFO: c_int = 1;
    TC1_ACCEPTOR_ID: c_int = 2;
    T_SNDZERO: c_int = 0x001;
    T_ODF_MORE: c_int = 0x01;
    T_ODF_EX: c_int = 0x02;
    BADSEQNUM: c_int = -1;
}

constants! { TIMOD_H:
    TIMOD: c_int = (b'T' as c_int) << 8;
    TI_GETINFO: c_int = TIMOD | 140;
    TI_OPTMGMT: c_int = TIMOD | 141;
    TI_BIND: c_int = TIMOD | 142;
    TI_UNBIND: c_int = TIMOD | 143;
    TI_GETADDRS: c_int = TIMOD | 149;
    TI_CAPABILITY: c_int = TIMOD | 150;
}

constants! { SOCKMOD_H:
    SOCKMOD: c_int = (b's' as c_int) << 8;
    SI_CONNECT: c_int = SOCKMOD | 1;
    SI_START_CONNECT: c_int = SOCKMOD | 2;
    SI_FINISH_CONNECT: c_int = SOCKMOD | 3;
    SI_ACCEPT: c_int = SOCKMOD | 4;
    SI_SHUTDOWN: c_int = SOCKMOD | 5;
    SI_SETPEERNAME: c_int = SOCKMOD | 6;
    SI_GETPEERNAME: c_int = SOCKMOD | 7;
    SI_GETERROR: c_int = SOCKMOD | 8;
    SI_AWAIT_CONNECT: c_int = SOCKMOD | 9;
}

constants! { TIUSER:
    T_ERROR: c_int = 0x0020;
    T_FAKE: c_int = 8;
    T_NOSTATES: c_int = 9;
}

constants! { XTI_INET:
    INET_TCP: c_int = 0x6;
    T_INET_TCP: c_int = INET_TCP;
    T_TCP_NODELAY: c_int = 0x1;
    T_TCP_MAXSEG: c_int = 0x2;
    T_TCP_KEEPALIVE: c_int = 0x8;
    INET_UDP: c_int = 0x11;
    T_INET_UDP: c_int = INET_UDP;
    T_UDP_CHECKSUM: c_int = 0x0600;
    INET_IP: c_int = 0x0;
    T_INET_IP: c_int = INET_IP;
    T_IP_OPTIONS: c_int = 0x1;
    T_IP_TOS: c_int = 0x2;
    T_IP_TTL: c_int = 0x3;
    T_IP_REUSEADDR: c_int = 0x4;
    T_IP_DONTROUTE: c_int = 0x10;
    T_IP_BROADCAST: c_int = 0x20;
    T_ROUTINE: c_int = 0;
    T_PRIORITY: c_int = 1;
    T_IMMEDIATE: c_int = 2;
    T_FLASH: c_int = 3;
    T_OVERRIDEFLASH: c_int = 4;
    T_CRITIC_ECP: c_int = 5;
    T_INETCONTROL: c_int = 6;
    T_NETCONTROL: c_int = 7;
    T_NOTOS: c_int = 0;
    T_LDELAY: c_int = 0x10;
    T_HITHRPT: c_int = 0x08;
    T_HIREL: c_int = 0x04;
    T_LOCOST: c_int = 0x02;
}
