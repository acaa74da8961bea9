/*
 * The ioctls of streams, their arguments and flags, numbered as in SVR4. streamio(7) describes each.
 *
 * A program includes <stropts.h>, which brings the functions too.
 */
#ifndef _SYS_STROPTS_H
#define _SYS_STROPTS_H

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Integers of at least 32 bits, as <xti.h> has them. */
#ifndef _T_SCALAR_T
#define _T_SCALAR_T
typedef int t_scalar_t;
typedef unsigned int t_uscalar_t;
#endif

/* Longest name of a module or driver, bytes, without the NUL. */
#ifndef FMNAMESZ
#define FMNAMESZ 8
#endif

/* Requests of ioctl(2) on a stream. Behind each: its argument. */
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

/* Read options: I_SRDOPT. One of the first three, one of RPROT*, and RFILL if it is wanted. */
#define RNORM 0x00     /* bytes */
#define RMSGD 0x01     /* one message a read; the rest is discarded */
#define RMSGN 0x02     /* one message a read; the rest stays */
#define RMODEMASK 0x03 /* the three above */
#define RPROTDAT 0x04  /* control parts are read as data */
#define RPROTDIS 0x08  /* control parts are discarded */
#define RPROTNORM 0x10 /* a control part is EBADMSG */
#define RFILL 0x20     /* a read waits for its whole count */

/* Write options: I_SWROPT. */
#define SNDZERO 0x01  /* a write of no bytes sends a message */
#define SNDPIPE 0x02  /* a write that fails raises SIGPIPE */
#define SNDHOLD 0x04  /* small writes are gathered for at most 10 ms */
#define SNDDELIM 0x08 /* each write ends a record */
#define SNDMREAD 0x10 /* an empty reader sends M_READ */

/* Error options: I_SERROPT. */
#define RERRNORM 0x00       /* a read error stays */
#define RERRNONPERSIST 0x01 /* it is reported once */
#define WERRNORM 0x00       /* a write error stays */
#define WERRNONPERSIST 0x02 /* it is reported once */

/* What is discarded: I_FLUSH, bi_flag. */
#define FLUSHR 0x01
#define FLUSHW 0x02
#define FLUSHRW 0x03
#ifndef FLUSHBAND
#define FLUSHBAND 0x04 /* of a module's M_FLUSH: one band alone */
#endif

/* Events for which SIGPOLL is sent: I_SETSIG, I_ESETSIG. */
#define S_INPUT 0x0001   /* a message that is not of high priority */
#define S_HIPRI 0x0002   /* a message of high priority */
#define S_OUTPUT 0x0004  /* room in band 0 */
#define S_MSG 0x0008     /* a SIGPOLL of a module */
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

/* All streams below a multiplexer: I_UNLINK, I_PUNLINK. */
#define MUXID_ALL (-1)

/* Any band above 0 that was used before: I_CANPUT. */
#define ANYBAND (-1)

/* Which messages have the mark: I_ATMARK. */
#define ANYMARK 0x01
#define LASTMARK 0x02

/* No time-out: ic_timout, and poll(2). */
#ifndef INFTIM
#define INFTIM (-1)
#endif

/* A part of a message: getmsg, putmsg. */
struct strbuf {
    int maxlen; /* bytes of room; -1: the part is left */
    int len;    /* bytes of the part; -1: none */
    char *buf;
};

/* I_PEEK. */
struct strpeek {
    struct strbuf ctlbuf;
    struct strbuf databuf;
    long flags; /* RS_HIPRI: only a message of high priority */
};

/* I_FDINSERT. */
struct strfdinsert {
    struct strbuf ctlbuf; /* the driver's id of fildes's stream is stored in it */
    struct strbuf databuf;
    long flags;
    int fildes;
    int offset; /* bytes from the start of ctlbuf.buf to a t_uscalar_t */
};

/* I_STR. */
struct strioctl {
    int ic_cmd;
    int ic_timout; /* seconds; 0: 15 seconds; INFTIM: none */
    int ic_len;    /* bytes at ic_dp, which must have room for the answer */
    char *ic_dp;
};

/* I_RECVFD. */
struct strrecvfd {
    int fd;
    uid_t uid; /* effective, of the process that sent it */
    gid_t gid;
    char fill[8];
};

/* I_LIST: a name. */
struct str_mlist {
    char l_name[FMNAMESZ + 1];
};

/* I_LIST. */
struct str_list {
    int sl_nmods; /* names for which there is room; becomes those that were stored */
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

/* I_GETPMSG, I_PUTPMSG. This library's own. */
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
