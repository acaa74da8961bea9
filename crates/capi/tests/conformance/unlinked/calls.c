/* The calls that the C library does not have, for programs that are not linked with libheadwater.so. The preloaded library's
 * calls take the place of these; without it each of them fails. */
#include <errno.h>

#define FAILING(name) \
    int name(void); \
    int name(void) { \
        errno = ENOSYS; \
        return -1; \
    }

FAILING(hw_take_stream)
FAILING(isastream)
FAILING(getmsg)
FAILING(getpmsg)
FAILING(putmsg)
FAILING(putpmsg)
FAILING(fattach)
FAILING(fdetach)
FAILING(strlog)
FAILING(t_accept)
FAILING(t_bind)
FAILING(t_close)
FAILING(t_connect)
FAILING(t_error)
FAILING(t_free)
FAILING(t_getinfo)
FAILING(t_getprotaddr)
FAILING(t_getstate)
FAILING(t_listen)
FAILING(t_look)
FAILING(t_open)
FAILING(t_optmgmt)
FAILING(t_rcv)
FAILING(t_rcvconnect)
FAILING(t_rcvdis)
FAILING(t_rcvrel)
FAILING(t_rcvreldata)
FAILING(t_rcvudata)
FAILING(t_rcvuderr)
FAILING(t_rcvv)
FAILING(t_rcvvudata)
FAILING(t_snd)
FAILING(t_snddis)
FAILING(t_sndrel)
FAILING(t_sndreldata)
FAILING(t_sndudata)
FAILING(t_sndv)
FAILING(t_sndvudata)
FAILING(t_sync)
FAILING(t_sysconf)
FAILING(t_unbind)

/* Calls that return addresses. */
void *t_alloc(int fd, int kind, int fields);
void *t_alloc(int fd, int kind, int fields) { return (void)fd, (void)kind, (void)fields, (void *)0; }
const char *t_strerror(int number);
const char *t_strerror(int number) { return (void)number, "the library is not preloaded"; }
int *_t_errno(void);
int *_t_errno(void) {
    static int number;
    return &number;
}
/* The objects are as large as the library's, which take their place. */
char *t_errlist[31];
int t_nerr;
