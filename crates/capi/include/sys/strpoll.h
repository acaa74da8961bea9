/*
 * Events of poll(2) for streams, which the system's <poll.h> defines only for some feature test macros. The values are those of
 * Linux.
 */
#ifndef _SYS_STRPOLL_H
#define _SYS_STRPOLL_H

#ifndef POLLRDNORM
#define POLLRDNORM 0x040 /* a message of band 0 is at the front */
#endif
#ifndef POLLRDBAND
#define POLLRDBAND 0x080 /* a message of another band is at the front */
#endif
#ifndef POLLWRNORM
#define POLLWRNORM 0x100 /* the same as POLLOUT: there is room in band 0 */
#endif
#ifndef POLLWRBAND
#define POLLWRBAND 0x200 /* there is room in another band that was used before */
#endif

#endif
