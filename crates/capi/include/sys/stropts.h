/*
 * The ioctls of streams, with their arguments and flags, numbered as in SVR4. streamio(7) describes each ioctl.
 *
 * A program includes <stropts.h>, which also declares the functions.
 */
#ifndef _SYS_STROPTS_H
#define _SYS_STROPTS_H

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Integers of at least 32 bits, which <xti.h> defines too. */
#ifndef _T_SCALAR_T
#define _T_SCALAR_T
typedef int t_scalar_t;
typedef unsigned int t_uscalar_t;
#endif

/* The longest name of a module or driver in bytes, without the NUL. */
#ifndef FMNAMESZ
#define FMNAMESZ 8
#endif

/* Requests of ioctl(2) on a stream. The comment behind each is its argument. */
#define __SID (('S') << 8)
#define I_NREAD (__SID | 1)      /* int *: bytes of the first message's data */
#define I_PUSH (__SID | 2)       /* const char *: the module */
#define I_POP (__SID | 3)        /* 0 */
#define I_LOOK (__SID | 4)       /* char[FMNAMESZ + 1] */
#define I_FLUSH (__SID | 5)      /* FLUSHR, FLUSHW or FLUSHRW */
#define I_SRDOPT (__SID | 6)     /* read options */
#define I_GRDOPT (__SID | 7)     /* int * */
#define I_STR (__SID | 8)        /* struct strioctl * */
#define I_SETSIG (__SID | 9)     /* events S_* */
#define I_GETSIG (__SID | 10)    /* int * */
#define I_FIND (__SID | 11)      /* const char *: a module or driver */
#define I_LINK (__SID | 12)      /* the lower stream's descriptor */
#define I_UNLINK (__SID | 13)    /* a multiplexer id, or MUXID_ALL */
#define I_RECVFD (__SID | 14)    /* struct strrecvfd * */
#define I_PEEK (__SID | 15)      /* struct strpeek * */
#define I_FDINSERT (__SID | 16)  /* struct strfdinsert * */
#define I_SENDFD (__SID | 17)    /* a descriptor */
#define I_E_RECVFD (__SID | 18)  /* struct strrecvfd * */
#define I_SWROPT (__SID | 19)    /* write options */
#define I_GWROPT (__SID | 20)    /* int * */
#define I_LIST (__SID | 21)      /* struct str_list *, or NULL */
#define I_PLINK (__SID | 22)     /* the lower stream's descriptor */
#define I_PUNLINK (__SID | 23)   /* a multiplexer id, or MUXID_ALL */
#define I_ANCHOR (__SID | 24)    /* 0 */
#define I_FLUSHBAND (__SID | 28) /* struct bandinfo * */
#define I_CKBAND (__SID | 29)    /* a band */
#define I_GETBAND (__SID | 30)   /* int * */
#define I_ATMARK (__SID | 31)    /* ANYMARK or LASTMARK */
#define I_SETCLTIME (__SID | 32) /* const int *: milliseconds */
#define I_GETCLTIME (__SID | 33) /* int *: milliseconds */
#define I_CANPUT (__SID | 34)    /* a band */
#define I_SERROPT (__SID | 35)   /* error options */
#define I_GERROPT (__SID | 36)   /* int * */
#define I_ESETSIG (__SID | 37)   /* const struct strsigset * */
#define I_EGETSIG (__SID | 38)   /* struct strsigset * */
#define I_GETPMSG (__SID | 42)   /* struct strpmsg *: getpmsg */
#define I_PUTPMSG (__SID | 43)   /* const struct strpmsg *: putpmsg */
#define I_PIPE (__SID | 44)      /* int[2]: a pipe of streams */
#define I_ISASTREAM (__SID | 46) /* 0 */
#define I_FATTACH (__SID | 52)   /* const char *: fattach */
#define I_FDETACH (__SID | 53)   /* const char *: fdetach */
#define I_SET_HIWAT (__SID | 91) /* bytes */
#define I_SET_LOWAT (__SID | 92) /* bytes */
#define I_GET_HIWAT (__SID | 97) /* int *: bytes */
#define I_GET_LOWAT (__SID | 98) /* int *: bytes */

/* Read options of I_SRDOPT: one of the first three, one of RPROT*, and RFILL if it is wanted. */
#define RNORM 0x00     /* bytes */
#define RMSGD 0x01     /* a read returns at most one message; the rest of it is discarded */
#define RMSGN 0x02     /* a read returns at most one message; the rest of it stays */
#define RMODEMASK 0x03 /* the bits of the three above */
#define RPROTDAT 0x04  /* control parts are read as data */
#define RPROTDIS 0x08  /* control parts are discarded */
#define RPROTNORM 0x10 /* a read of a control part fails with EBADMSG */
#define RFILL 0x20     /* a read waits for its whole count */

/* Write options: I_SWROPT. */
#define SNDZERO 0x01  /* a write of no bytes sends a message */
#define SNDPIPE 0x02  /* a write that fails raises SIGPIPE */
#define SNDHOLD 0x04  /* small writes are gathered for at most 10 ms */
#define SNDDELIM 0x08 /* each write ends a record */
#define SNDMREAD 0x10 /* an empty reader sends M_READ */

/* Error options: I_SERROPT. */
#define RERRNORM 0x00       /* a read error stays */
#define RERRNONPERSIST 0x01 /* the error is reported once */
#define WERRNORM 0x00       /* a write error stays */
#define WERRNONPERSIST 0x02 /* the error is reported once */

/* What I_FLUSH and bi_flag discard. */
#define FLUSHR 0x01
#define FLUSHW 0x02
#define FLUSHRW 0x03
#ifndef FLUSHBAND
#define FLUSHBAND 0x04 /* in a module's M_FLUSH: only one band */
#endif

/* Events of I_SETSIG and I_ESETSIG, for which SIGPOLL is sent. */
#define S_INPUT 0x0001   /* a message that is not of high priority */
#define S_HIPRI 0x0002   /* a message of high priority */
#define S_OUTPUT 0x0004  /* room in band 0 */
#define S_MSG 0x0008     /* an M_SIG of a module with SIGPOLL */
#define S_ERROR 0x0010   /* M_ERROR */
#define S_HANGUP 0x0020  /* M_HANGUP */
#define S_RDNORM 0x0040  /* a message of band 0 */
#define S_WRNORM S_OUTPUT
#define S_RDBAND 0x0080  /* a message of another band */
#define S_WRBAND 0x0100  /* room in another band */
#define S_BANDURG 0x0200 /* with S_RDBAND: SIGURG instead of SIGPOLL */

/* Flags of getmsg, putmsg, I_PEEK and I_FDINSERT. */
#define RS_HIPRI 0x01
/* Flags of getpmsg and putpmsg. */
#define MSG_HIPRI 0x01
#define MSG_ANY 0x02
#define MSG_BAND 0x04
/* Values of getmsg and getpmsg. */
#define MORECTL 1
#define MOREDATA 2

/* For I_UNLINK and I_PUNLINK: all streams below a multiplexer. */
#define MUXID_ALL (-1)

/* For I_CANPUT: any band above 0 that was used before. */
#define ANYBAND (-1)

/* For I_ATMARK: which marked messages count. */
#define ANYMARK 0x01
#define LASTMARK 0x02

/* For ic_timout and poll(2): no time-out. */
#ifndef INFTIM
#define INFTIM (-1)
#endif

/* A part of a message, for getmsg and putmsg. */
struct strbuf {
    int maxlen; /* bytes of room; -1: the part is not received */
    int len;    /* bytes of the part; -1: there is no such part */
    char *buf;
};

/* I_PEEK. */
struct strpeek {
    struct strbuf ctlbuf;
    struct strbuf databuf;
    long flags; /* 0, or RS_HIPRI for only a message of high priority */
};

/* I_FDINSERT. */
struct strfdinsert {
    struct strbuf ctlbuf; /* the number of the stream of fildes is stored in it */
    struct strbuf databuf;
    long flags;
    int fildes;
    int offset; /* bytes from the start of ctlbuf.buf to a t_uscalar_t */
};

/* I_STR. */
struct strioctl {
    int ic_cmd;
    int ic_timout; /* seconds; 0: 15 seconds; INFTIM: no time-out */
    int ic_len;    /* bytes at ic_dp, which must have room for the answer */
    char *ic_dp;
};

/* I_RECVFD. */
struct strrecvfd {
    int fd;
    uid_t uid; /* effective user of the process that sent the descriptor */
    gid_t gid;
    char fill[8];
};

/* I_LIST: a name. */
struct str_mlist {
    char l_name[FMNAMESZ + 1];
};

/* I_LIST. */
struct str_list {
    int sl_nmods; /* how many names fit; becomes how many were stored */
    struct str_mlist *sl_modlist;
};

/* I_FLUSHBAND. */
struct bandinfo {
    unsigned char bi_pri;
    int bi_flag; /* FLUSHR, FLUSHW or FLUSHRW */
};

/* I_ESETSIG, I_EGETSIG. */
struct strsigset {
    pid_t ss_pid;  /* a process; negative: a process group */
    int ss_events; /* S_* */
};

/* I_GETPMSG, I_PUTPMSG. An extension of this library. */
struct strpmsg {
    struct strbuf ctlbuf;
    struct strbuf databuf;
    int band;
    int flags; /* MSG_ANY, MSG_BAND, MSG_HIPRI */
};

#ifdef __cplusplus
}
#endif

#endif
