/*
 * STREAMS for programs: getmsg(3), putmsg(3), fattach(3), isastream(3) and the ioctls of streamio(7).
 *
 * SUSv2 and POSIX.1-2001 to 2008, XSR option. Link with -lheadwater; the flags are those of `pkg-config headwater`.
 */
#ifndef _STROPTS_H
#define _STROPTS_H

#include <unistd.h>

#include <sys/ioctl.h>
#include <sys/stropts.h>

#ifdef __cplusplus
extern "C" {
#endif

/* If a call fails, it returns -1 and sets errno. The man page of the call lists the errors. */

/* Returns 1 if the descriptor is a stream, else 0. */
int isastream(int fildes);

/*
 * Makes a descriptor that stands for a stream of this driver that stream, and returns 0. A program gets such a descriptor by
 * I_RECVFD or recvmsg (SCM_RIGHTS), which make only ends of pipes and FIFOs streams. An extension of this library.
 */
int hw_take_stream(int fildes, const char *driver);

/* Attaches a stream to a path, so that an open of the path opens the stream. Returns 0. */
int fattach(int fildes, const char *path);
/* Detaches the stream that was attached to a path. Returns 0. */
int fdetach(const char *path);

/*
 * Receives the next message. *flagsp is 0 for any message, or RS_HIPRI for one of high priority, and becomes the flag of the
 * message that was received. Returns 0, or MORECTL and MOREDATA for the parts that have more bytes.
 */
int getmsg(int fildes, struct strbuf *__restrict ctlptr, struct strbuf *__restrict dataptr, int *__restrict flagsp);
/* Receives a message by priority band: *flagsp is MSG_ANY, MSG_BAND with the least band in *bandp, or MSG_HIPRI. */
int getpmsg(int fildes, struct strbuf *__restrict ctlptr, struct strbuf *__restrict dataptr, int *__restrict bandp,
            int *__restrict flagsp);

/* Sends a message; flags is 0 or RS_HIPRI. Returns 0. */
int putmsg(int fildes, const struct strbuf *ctlptr, const struct strbuf *dataptr, int flags);
/* Sends a message in a priority band, 0 to 255: flags is MSG_BAND, or MSG_HIPRI with band 0. Returns 0. */
int putpmsg(int fildes, const struct strbuf *ctlptr, const struct strbuf *dataptr, int band, int flags);

#ifdef __cplusplus
}
#endif

#endif
