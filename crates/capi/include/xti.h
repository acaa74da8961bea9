/* XTI, the X/Open Transport Interface (XNS 5.2). Each call has a man page; xti(7) is an overview. */
#ifndef _XTI_H
#define _XTI_H

#include <stddef.h>
#include <unistd.h>

#include <sys/tpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Errors: the values of t_errno. */
#define TBADADDR 1 /* the address is incorrect */
#define TBADOPT 2 /* the options are incorrect */
#define TACCES 3 /* no permission */
#define TBADF 4 /* no transport endpoint */
#define TNOADDR 5 /* the provider could not choose an address */
#define TOUTSTATE 6 /* the state does not allow the call */
#define TBADSEQ 7 /* no connection with that number waits */
#define TSYSERR 8 /* system error: errno says which */
#define TLOOK 9 /* an event requires attention: t_look() says which */
#define TBADDATA 10 /* the amount of data is not allowed */
#define TBUFOVFLW 11 /* a buffer is too short */
#define TFLOW 12 /* flow control */
#define TNODATA 13 /* no data */
#define TNODIS 14 /* no disconnection */
#define TNOUDERR 15 /* no datagram has an error */
#define TBADFLAG 16 /* the flags are incorrect */
#define TNOREL 17 /* no orderly release */
#define TNOTSUPPORT 18 /* the transport does not have the call */
#define TSTATECHNG 19 /* the state is changing */
#define TNOSTRUCTYPE 20 /* no such structure */
#define TBADNAME 21 /* no such transport */
#define TBADQLEN 22 /* the endpoint does not listen */
#define TADDRBUSY 23 /* the address is in use */
#define TINDOUT 24 /* other connections wait */
#define TPROVMISMATCH 25 /* the endpoints are of two transports */
#define TRESQLEN 26 /* the accepting endpoint listens */
#define TRESADDR 27 /* the accepting endpoint has another address */
#define TQFULL 28 /* the queue of connections is full */
#define TPROTO 29 /* the provider has broken the protocol */

/* The error of the calling thread's last failed call. (The line is indented because it is no constant.) */
extern int *_t_errno(void);
 #define t_errno (*_t_errno())

/* Events: values of t_look(). */
#define T_LISTEN 0x0001     /* a peer asks for a connection */
#define T_CONNECT 0x0002    /* the connection was accepted */
#define T_DATA 0x0004       /* data */
#define T_EXDATA 0x0008     /* expedited data */
#define T_DISCONNECT 0x0010 /* the connection has ended, or was refused */
#define T_UDERR 0x0040      /* a datagram was not delivered */
#define T_ORDREL 0x0080     /* the other direction has ended in order */
#define T_GODATA 0x0100     /* there is room for data again, after TFLOW */
#define T_GOEXDATA 0x0200   /* there is room for expedited data again, after TFLOW */

/* Flags of t_snd() and t_rcv(). */
#define T_MORE 0x001      /* the message continues */
#define T_EXPEDITED 0x002 /* expedited data */
#define T_PUSH 0x004      /* send now; this library always does */

/* Requests of t_optmgmt(), and the status of its answers. */
#define T_NEGOTIATE 0x004
#define T_CHECK 0x008
#define T_DEFAULT 0x010
#define T_SUCCESS 0x020
#define T_FAILURE 0x040
#define T_CURRENT 0x080
#define T_PARTSUCCESS 0x100
#define T_READONLY 0x200
#define T_NOTSUPPORT 0x400

/* Structures of t_alloc(). */
#define T_BIND 1     /* struct t_bind */
#define T_OPTMGMT 2  /* struct t_optmgmt */
#define T_CALL 3     /* struct t_call */
#define T_DIS 4      /* struct t_discon */
#define T_UNITDATA 5 /* struct t_unitdata */
#define T_UDERROR 6  /* struct t_uderr */
#define T_INFO 7     /* struct t_info */

/* The buffers of these structures. */
#define T_ADDR 0x01
#define T_OPT 0x02
#define T_UDATA 0x04
#define T_ALL 0xffff

/* Services: servtype of struct t_info. */
#define T_COTS 1     /* connections */
#define T_COTS_ORD 2 /* connections with orderly release */
#define T_CLTS 3     /* datagrams */

/* Flags of struct t_info. */
#define T_SENDZERO 0x001   /* messages without bytes can be sent */
#define T_ORDRELDATA 0x002 /* an orderly release can have data */

/* Sizes of struct t_info. */
#define T_INFINITE (-1) /* no limit */
#define T_INVALID (-2)  /* the transport does not have this */

/* States: values of t_getstate(). */
#define T_UNINIT 0   /* not open */
#define T_UNBND 1    /* no address */
#define T_IDLE 2     /* no connection */
#define T_OUTCON 3   /* the endpoint has asked for a connection */
#define T_INCON 4    /* connections wait to be accepted */
#define T_DATAXFER 5 /* connected */
#define T_OUTREL 6   /* the endpoint has ended its direction in order */
#define T_INREL 7    /* the other direction has ended in order */

/* Values of options. */
#define T_YES 1
#define T_NO 0
#define T_GARBAGE 2
#define T_UNUSED (-1)
#define T_NULL 0
#define T_ABSREQ 0x8000
#define T_UNSPEC (~0 - 2)
#define T_ALLOPT 0 /* the name of all options of a level */

/* Options that belong to no protocol. */
#define XTI_GENERIC 0xffff
#define XTI_DEBUG 0x0001
#define XTI_LINGER 0x0080
#define XTI_RCVBUF 0x1002
#define XTI_RCVLOWAT 0x1004
#define XTI_SNDBUF 0x1001
#define XTI_SNDLOWAT 0x1003

/* The most pieces of t_sndv(), t_rcvv(), t_sndvudata() and t_rcvvudata(). */
#define T_IOV_MAX 16

/* A buffer. */
struct netbuf {
    unsigned int maxlen; /* bytes of room */
    unsigned int len;    /* bytes used */
    void *buf;
};

/* Sizes and service of a transport: t_open(), t_getinfo(). */
struct t_info {
    t_scalar_t addr;
    t_scalar_t options;
    t_scalar_t tsdu;
    t_scalar_t etsdu;
    t_scalar_t connect;
    t_scalar_t discon;
    t_scalar_t servtype;
    t_scalar_t flags;
};

/* t_bind(). */
struct t_bind {
    struct netbuf addr;
    unsigned int qlen; /* how many connections may wait */
};

/* t_optmgmt(). */
struct t_optmgmt {
    struct netbuf opt;
    t_scalar_t flags;
};

/* t_rcvdis(), t_sndreldata(), t_rcvreldata(). */
struct t_discon {
    struct netbuf udata;
    int reason;
    int sequence;
};

/* t_connect(), t_listen(), t_accept(), t_rcvconnect(), t_snddis(). */
struct t_call {
    struct netbuf addr;
    struct netbuf opt;
    struct netbuf udata;
    int sequence;
};

/* t_sndudata(), t_rcvudata(). */
struct t_unitdata {
    struct netbuf addr;
    struct netbuf opt;
    struct netbuf udata;
};

/* t_rcvuderr(). */
struct t_uderr {
    struct netbuf addr;
    struct netbuf opt;
    t_scalar_t error;
};

/* An option; its value follows. */
struct t_opthdr {
    t_uscalar_t len; /* bytes of the header and the value */
    t_uscalar_t level;
    t_uscalar_t name;
    t_uscalar_t status;
};

/* A piece of data. */
struct t_iovec {
    void *iov_base;
    size_t iov_len;
};

/* The value of T_TCP_KEEPALIVE. */
struct t_kpalive {
    t_scalar_t kp_onoff;
    t_scalar_t kp_timeout; /* minutes */
};

/* The value of XTI_LINGER. */
struct t_linger {
    t_scalar_t l_onoff;
    t_scalar_t l_linger; /* seconds */
};

/* Options begin at multiples of 8 bytes. */
#define T_ALIGN(length) (((size_t)(length) + 7) & ~(size_t)7)
/* The first option of a struct netbuf, the option after another one, and the value of an option. NULL if there is none. */
#define T_OPT_FIRSTHDR(list) \
    ((list)->len >= sizeof(struct t_opthdr) ? (struct t_opthdr *)(list)->buf : (struct t_opthdr *)0)
#define T_OPT_NEXTHDR(list, option) \
    ((char *)(option) + T_ALIGN((option)->len) + sizeof(struct t_opthdr) <= (char *)(list)->buf + (list)->len \
         ? (struct t_opthdr *)((char *)(option) + T_ALIGN((option)->len)) \
         : (struct t_opthdr *)0)
#define T_OPT_DATA(option) ((unsigned char *)(option) + sizeof(struct t_opthdr))
/* The same for a buffer and its length. */
#define OPT_NEXTHDR(buffer, length, option) \
    ((char *)(option) + T_ALIGN((option)->len) + sizeof(struct t_opthdr) <= (char *)(buffer) + (length) \
         ? (struct t_opthdr *)((char *)(option) + T_ALIGN((option)->len)) \
         : (struct t_opthdr *)0)

int t_accept(int fd, int resfd, const struct t_call *call);
void *t_alloc(int fd, int struct_type, int fields);
int t_bind(int fd, const struct t_bind *req, struct t_bind *ret);
int t_close(int fd);
int t_connect(int fd, const struct t_call *sndcall, struct t_call *rcvcall);
int t_error(const char *errmsg);
int t_free(void *ptr, int struct_type);
int t_getinfo(int fd, struct t_info *info);
int t_getprotaddr(int fd, struct t_bind *boundaddr, struct t_bind *peeraddr);
int t_getstate(int fd);
int t_listen(int fd, struct t_call *call);
int t_look(int fd);
int t_open(const char *name, int oflag, struct t_info *info);
int t_optmgmt(int fd, const struct t_optmgmt *req, struct t_optmgmt *ret);
int t_rcv(int fd, void *buf, unsigned int nbytes, int *flags);
int t_rcvconnect(int fd, struct t_call *call);
int t_rcvdis(int fd, struct t_discon *discon);
int t_rcvrel(int fd);
int t_rcvreldata(int fd, struct t_discon *discon);
int t_rcvudata(int fd, struct t_unitdata *unitdata, int *flags);
int t_rcvuderr(int fd, struct t_uderr *uderr);
int t_rcvv(int fd, struct t_iovec *iov, unsigned int iovcount, int *flags);
int t_rcvvudata(int fd, struct t_unitdata *unitdata, struct t_iovec *iov, unsigned int iovcount, int *flags);
int t_snd(int fd, void *buf, unsigned int nbytes, int flags);
int t_snddis(int fd, const struct t_call *call);
int t_sndrel(int fd);
int t_sndreldata(int fd, struct t_discon *discon);
int t_sndudata(int fd, const struct t_unitdata *unitdata);
int t_sndv(int fd, const struct t_iovec *iov, unsigned int iovcount, int flags);
int t_sndvudata(int fd, struct t_unitdata *unitdata, struct t_iovec *iov, unsigned int iovcount);
const char *t_strerror(int errnum);
int t_sync(int fd);
int t_sysconf(int name);
int t_unbind(int fd);

#ifdef __cplusplus
}
#endif

#endif
