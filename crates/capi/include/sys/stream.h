/* Modules and drivers of STREAMS in C: the parts of SVR4's DDI/DKI that make sense in a process. See strmod(9).
 *
 * A queue_t belongs to one process. Messages wait in memory that all processes of the stream share; the fields of a queue_t are
 * a copy of its state, which is made before each procedure is called.
 */
#ifndef _SYS_STREAM_H
#define _SYS_STREAM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef FMNAMESZ
#define FMNAMESZ 8
#endif

typedef unsigned int hw_ddi_uint;
typedef unsigned char hw_ddi_uchar;

struct queue;
struct msgb;
struct datab;

/* The credentials of the process that calls ioctl or open. */
typedef struct cred {
	uid_t cr_uid;
	gid_t cr_gid;
	uid_t cr_ruid;
	gid_t cr_rgid;
} cred_t;

/* The routine that is called when the last reference to an external buffer has been freed. */
typedef struct free_rtn {
	void (*free_func)(char *);
	char *free_arg;
} frtn_t;

typedef struct datab {
	frtn_t *db_frtnp;
	unsigned char *db_base;
	unsigned char *db_lim;
	unsigned int db_ref;
	unsigned char db_type;
	unsigned char db_flags;
	void *db_hw; /* for the library's own use */
} dblk_t;

typedef struct msgb {
	struct msgb *b_next;
	struct msgb *b_prev;
	struct msgb *b_cont;
	unsigned char *b_rptr;
	unsigned char *b_wptr;
	struct datab *b_datap;
	unsigned char b_band;
	unsigned char b_tag;
	unsigned short b_flag;
	void *b_hw; /* for the library's own use */
} mblk_t;

/* b_flag */
#define MSGMARK 0x01
#define MSGNOLOOP 0x02
#define MSGDELIM 0x04
#define MSGNOGET 0x08

struct module_info {
	unsigned short mi_idnum;
	char *mi_idname;
	ssize_t mi_minpsz;
	ssize_t mi_maxpsz;
	size_t mi_hiwat;
	size_t mi_lowat;
};
#define INFPSZ (-1)

struct module_stat;

typedef int (*hw_putp_t)(struct queue *, mblk_t *);
typedef int (*hw_srvp_t)(struct queue *);
typedef int (*hw_openp_t)(struct queue *, dev_t *, int, int, cred_t *);
typedef int (*hw_closep_t)(struct queue *, int, cred_t *);

struct qinit {
	int (*qi_putp)(struct queue *, mblk_t *);
	int (*qi_srvp)(struct queue *);
	int (*qi_qopen)(struct queue *, dev_t *, int, int, cred_t *);
	int (*qi_qclose)(struct queue *, int, cred_t *);
	int (*qi_qadmin)(void);
	struct module_info *qi_minfo;
	struct module_stat *qi_mstat;
};

struct streamtab {
	struct qinit *st_rdinit;
	struct qinit *st_wrinit;
	struct qinit *st_muxrinit; /* not supported: must be null */
	struct qinit *st_muxwinit;
};

typedef struct queue {
	struct qinit *q_qinfo;
	struct msgb *q_first; /* null if the queue is empty; for the messages see freezestr */
	struct msgb *q_last;
	struct queue *q_next; /* for canput, put, putctl and comparisons */
	struct queue *q_link;
	void *q_ptr; /* for the module's own use, in this process */
	size_t q_count;
	unsigned int q_flag;
	ssize_t q_minpsz;
	ssize_t q_maxpsz;
	size_t q_hiwat;
	size_t q_lowat;
	void *q_hw; /* for the library's own use */
} queue_t;

/* q_flag */
#define QENAB 0x001
#define QWANTR 0x002
#define QWANTW 0x004
#define QFULL 0x008
#define QREADR 0x010
#define QUSE 0x020
#define QNOENB 0x040
#define QOLD 0x080

/* sflag of an open procedure */
#define DRVOPEN 0
#define MODOPEN 1
#define CLONEOPEN 2
/* What an old-style open procedure returns if it fails */
#define OPENFAIL (-1)

/* NAMEdevflag. D_DEVICE, an extension, says that the object is a driver. The other flags are accepted and change nothing. */
#define D_OLD 0x001
#define D_DMA 0x002
#define D_MP 0x004
#define D_NEW 0x008
#define D_MTPERQ 0x010
#define D_MTQPAIR 0x020
#define D_MTPERMOD 0x040
#define D_DEVICE 0x10000

/* Message types */
#define M_DATA 0x00
#define M_PROTO 0x01
#define M_BREAK 0x08
#define M_PASSFP 0x09
#define M_EVENT 0x0a
#define M_SIG 0x0b
#define M_DELAY 0x0c
#define M_CTL 0x0d
#define M_IOCTL 0x0e
#define M_SETOPTS 0x10
#define M_RSE 0x11
#define M_IOCACK 0x81
#define M_IOCNAK 0x82
#define M_PCPROTO 0x83
#define M_PCSIG 0x84
#define M_READ 0x85
#define M_FLUSH 0x86
#define M_STOP 0x87
#define M_START 0x88
#define M_HANGUP 0x89
#define M_ERROR 0x8a
#define M_COPYIN 0x8b
#define M_COPYOUT 0x8c
#define M_IOCDATA 0x8d
#define M_PCRSE 0x8e
#define M_STOPI 0x8f
#define M_STARTI 0x90
#define M_UNHANGUP 0x91
#define QPCTL 0x80
#define QNORM 0x00

/* The first byte of an M_FLUSH. */
#ifndef FLUSHR
#define FLUSHR 0x01
#define FLUSHW 0x02
#define FLUSHRW 0x03
#endif
#ifndef FLUSHBAND
#define FLUSHBAND 0x04
#endif
/* flag of flushq and flushband */
#define FLUSHDATA 0
#define FLUSHALL 1
/* In an M_ERROR: leaves this error as it is. */
#define NOERROR 0xff

/* The block of an M_IOCTL, M_IOCACK or M_IOCNAK */
struct iocblk {
	int ioc_cmd;
	cred_t *ioc_cr;
	unsigned int ioc_id;
	size_t ioc_count;
	int ioc_error;
	int ioc_rval;
	int ioc_fill1;
	unsigned int ioc_flag;
	long ioc_fill2; /* makes it as long as copyreq and copyresp */
};
#define ioc_uid ioc_cr->cr_uid
#define ioc_gid ioc_cr->cr_gid
#define TRANSPARENT ((size_t)-1)

/* The block of an M_COPYIN or M_COPYOUT */
struct copyreq {
	int cq_cmd;
	cred_t *cq_cr;
	unsigned int cq_id;
	caddr_t cq_addr;
	size_t cq_size;
	unsigned int cq_flag;
	mblk_t *cq_private;
};
#define cq_uid cq_cr->cr_uid
#define cq_gid cq_cr->cr_gid

/* The block of an M_IOCDATA */
struct copyresp {
	int cp_cmd;
	cred_t *cp_cr;
	unsigned int cp_id;
	caddr_t cp_rval;
	size_t cp_pad1;
	unsigned int cp_pad2;
	mblk_t *cp_private;
};
#define cp_uid cp_cr->cr_uid
#define cp_gid cp_cr->cr_gid

/* The block of an M_SETOPTS */
struct stroptions {
	unsigned int so_flags;
	short so_readopt;
	unsigned short so_wroff;
	ssize_t so_minpsz;
	ssize_t so_maxpsz;
	size_t so_hiwat;
	size_t so_lowat;
	unsigned char so_band;
	unsigned short so_erropt;
	ssize_t so_maxblk;
};
#define SO_READOPT 0x0001
#define SO_WROFF 0x0002
#define SO_MINPSZ 0x0004
#define SO_MAXPSZ 0x0008
#define SO_HIWAT 0x0010
#define SO_LOWAT 0x0020
#define SO_MREADON 0x0040
#define SO_MREADOFF 0x0080
#define SO_NDELON 0x0100
#define SO_NDELOFF 0x0200
#define SO_ISTTY 0x0400
#define SO_ISNTTY 0x0800
#define SO_TOSTOP 0x1000
#define SO_TONSTOP 0x2000
#define SO_BAND 0x4000
#define SO_DELIM 0x8000
#define SO_NODELIM 0x10000
#define SO_STRHOLD 0x20000
#define SO_ERROPT 0x40000
#define SO_ALL 0x3f

/* The data of an M_IOCTL for I_LINK, I_UNLINK, I_PLINK and I_PUNLINK */
struct linkblk {
	queue_t *l_qtop;
	queue_t *l_qbot;
	int l_index;
};

/* what of strqget and strqset */
typedef enum qfields {
	QHIWAT = 0,
	QLOWAT = 1,
	QMAXPSZ = 2,
	QMINPSZ = 3,
	QCOUNT = 4,
	QFIRST = 5,
	QLAST = 6,
	QFLAG = 7,
	QBAD = 8
} qfields_t;

/* pri of allocb, bufcall and testb: accepted, with no effect */
#define BPRI_LO 1
#define BPRI_MED 2
#define BPRI_HI 3

typedef intptr_t timeout_id_t;
typedef intptr_t bufcall_id_t;
typedef int toid_t;

/* A module is a shared object and calls the library's functions by their second names, because a program may have functions of
 * the first names. A program, which is compiled without -fPIC or with -fPIE, calls functions by the names that it writes. */
#if defined(__PIC__) && !defined(__PIE__)
#define HW_DDI_NAME(name) __asm__("hw_ddi_" #name)
#else
#define HW_DDI_NAME(name)
#endif

/* Messages and control messages are put */
int put(queue_t *q, mblk_t *mp) HW_DDI_NAME(put);
int putnext(queue_t *q, mblk_t *mp) HW_DDI_NAME(putnext);
int putq(queue_t *q, mblk_t *mp) HW_DDI_NAME(putq);
int putbq(queue_t *q, mblk_t *mp) HW_DDI_NAME(putbq);
int insq(queue_t *q, mblk_t *emp, mblk_t *nmp) HW_DDI_NAME(insq);
int putctl(queue_t *q, int type) HW_DDI_NAME(putctl);
int putctl1(queue_t *q, int type, int param) HW_DDI_NAME(putctl1);
int putnextctl(queue_t *q, int type) HW_DDI_NAME(putnextctl);
int putnextctl1(queue_t *q, int type, int param) HW_DDI_NAME(putnextctl1);
void qreply(queue_t *q, mblk_t *mp) HW_DDI_NAME(qreply);

/* Messages are taken out and flushed */
mblk_t *getq(queue_t *q) HW_DDI_NAME(getq);
void rmvq(queue_t *q, mblk_t *mp) HW_DDI_NAME(rmvq);
void flushq(queue_t *q, int flag) HW_DDI_NAME(flushq);
void flushband(queue_t *q, unsigned char pri, int flag) HW_DDI_NAME(flushband);
int qsize(queue_t *q) HW_DDI_NAME(qsize);

/* Flow control and scheduling */
int canput(queue_t *q) HW_DDI_NAME(canput);
int canputnext(queue_t *q) HW_DDI_NAME(canputnext);
int bcanput(queue_t *q, unsigned char pri) HW_DDI_NAME(bcanput);
int bcanputnext(queue_t *q, unsigned char pri) HW_DDI_NAME(bcanputnext);
void enableok(queue_t *q) HW_DDI_NAME(enableok);
void noenable(queue_t *q) HW_DDI_NAME(noenable);
void qenable(queue_t *q) HW_DDI_NAME(qenable);

/* Allocation */
mblk_t *allocb(size_t size, unsigned int pri) HW_DDI_NAME(allocb);
mblk_t *esballoc(unsigned char *base, size_t size, int pri, frtn_t *fr_rtnp) HW_DDI_NAME(esballoc);
void freeb(mblk_t *bp) HW_DDI_NAME(freeb);
void freemsg(mblk_t *mp) HW_DDI_NAME(freemsg);
mblk_t *dupb(mblk_t *bp) HW_DDI_NAME(dupb);
mblk_t *dupmsg(mblk_t *mp) HW_DDI_NAME(dupmsg);
mblk_t *copyb(mblk_t *bp) HW_DDI_NAME(copyb);
mblk_t *copymsg(mblk_t *mp) HW_DDI_NAME(copymsg);
int testb(size_t size, unsigned int pri) HW_DDI_NAME(testb);
bufcall_id_t bufcall(size_t size, int pri, void (*func)(intptr_t), intptr_t arg) HW_DDI_NAME(bufcall);
void unbufcall(bufcall_id_t id) HW_DDI_NAME(unbufcall);

/* The shape of messages */
void linkb(mblk_t *mp, mblk_t *bp) HW_DDI_NAME(linkb);
mblk_t *unlinkb(mblk_t *mp) HW_DDI_NAME(unlinkb);
mblk_t *rmvb(mblk_t *mp, mblk_t *bp) HW_DDI_NAME(rmvb);
int adjmsg(mblk_t *mp, ssize_t len) HW_DDI_NAME(adjmsg);
int pullupmsg(mblk_t *mp, ssize_t len) HW_DDI_NAME(pullupmsg);
mblk_t *msgpullup(mblk_t *mp, ssize_t len) HW_DDI_NAME(msgpullup);
size_t msgdsize(const mblk_t *mp) HW_DDI_NAME(msgdsize);
int datamsg(unsigned char type) HW_DDI_NAME(datamsg);

/* Queues */
queue_t *RD(queue_t *q) HW_DDI_NAME(RD);
queue_t *WR(queue_t *q) HW_DDI_NAME(WR);
queue_t *OTHERQ(queue_t *q) HW_DDI_NAME(OTHERQ);
int SAMESTR(queue_t *q) HW_DDI_NAME(SAMESTR);
queue_t *backq(queue_t *q) HW_DDI_NAME(backq);
int strqget(queue_t *q, qfields_t what, unsigned char pri, long *valp) HW_DDI_NAME(strqget);
int strqset(queue_t *q, qfields_t what, unsigned char pri, long val) HW_DDI_NAME(strqset);
void qprocson(queue_t *q) HW_DDI_NAME(qprocson);
void qprocsoff(queue_t *q) HW_DDI_NAME(qprocsoff);
int freezestr(queue_t *q) HW_DDI_NAME(freezestr);
void unfreezestr(queue_t *q, int cookie) HW_DDI_NAME(unfreezestr);

/* Time, in ticks: HZ ticks are a second */
#define HW_DDI_HZ 100
timeout_id_t timeout(void (*func)(void *), void *arg, long ticks) HW_DDI_NAME(timeout);
long untimeout(timeout_id_t id) HW_DDI_NAME(untimeout);
timeout_id_t qtimeout(queue_t *q, void (*func)(void *), void *arg, long ticks) HW_DDI_NAME(qtimeout);
long quntimeout(queue_t *q, timeout_id_t id) HW_DDI_NAME(quntimeout);

/* Extension: reads and writes memory in the stream, which the procedures of all processes share. A module has 56 bytes, a driver
 * NAMEshared bytes. They are zero at first, and are written in units of 8 bytes. Returns 0; or EINVAL if the range is not inside the
 * memory, or if the caller is no procedure of the queue. */
int hw_q_read(queue_t *q, size_t at, void *to, size_t count);
int hw_q_write(queue_t *q, size_t at, const void *from, size_t count);

/* Extension: registers a module, or with D_DEVICE a driver, under the name in its module_info. Returns 0 or an errno. */
int hw_register_module(struct streamtab *info, int devflag);
/* Extension: loads a shared object by its path, as an automatic load does by its name. Returns 0 or an errno. */
int hw_module_load(const char *path);
/* Extension: turns on or off the search for unknown modules in HEADWATER_MODULES and the default directory. It is on at first. */
void hw_module_search(int on);

#ifdef __cplusplus
}
#endif

#endif
