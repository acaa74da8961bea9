/*
 * Limits and defaults of streams, with the names of SVR4's tunable parameters. The values are this library's and differ from
 * SVR4's: libheadwater(7) compares them. A module or driver may set other values for its queues.
 */
#ifndef _SYS_STRCONF_H
#define _SYS_STRCONF_H

#define NSTRPUSH 64        /* modules on one end */
#define STRMSGSZ 262144    /* bytes of a message's data part */
#define STRCTLSZ 4096      /* bytes of a message's control part */
#define STRMAXPSZ 65536    /* bytes that one message takes; a longer write is cut */
#define STRHIGH 65536      /* high-water mark of a head's read queue, bytes */
#define STRLOW 32768       /* low-water mark of a head's read queue, bytes */
#define MODHIGH 5120       /* high-water mark of a module's queue if the module asks for none, bytes */
#define MODLOW 1024        /* low-water mark of such a queue, bytes */
#define NBANDS 256         /* priority bands, 0 included */
#define STRCLTIME 15000    /* longest wait of the last close, milliseconds */
#define STRIOCTIME 15      /* longest wait of an I_STR with an ic_timout of 0, seconds */
#define STRHOLDTIME 10     /* longest time that SNDHOLD holds a write back, milliseconds */
#define NSTRSIG 32         /* processes that get signals of one end */
#define NSTRLINK 32        /* streams below one stream of a multiplexer */
#define NSTRMINOR 4096     /* minor numbers of a driver */

#endif
