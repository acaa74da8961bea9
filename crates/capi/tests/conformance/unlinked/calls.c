/* The calls that the C library has not, for programs that are not linked with libheadwater.so. The preloaded library's take their
 * place; without it each fails. */
#include <errno.h>

#define FAILING(name) \
    int name(void); \
    int name(void) { \
        errno = ENOSYS; \
        return -1; \
    }

FAILING(isastream)
FAILING(getmsg)
FAILING(getpmsg)
FAILING(putmsg)
FAILING(putpmsg)
FAILING(fattach)
FAILING(fdetach)
FAILING(strlog)
