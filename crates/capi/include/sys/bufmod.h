/* The module `bufmod`, which gathers small messages into chunks for a network monitor. See bufmod(7). */
#ifndef _SYS_BUFMOD_H
#define _SYS_BUFMOD_H

#include <sys/time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Commands of I_STR. */
#define SBIOC (('B') << 8)
#define SBIOCSTIME (SBIOC | 1)  /* struct timeval: sets the time for which a chunk is gathered */
#define SBIOCGTIME (SBIOC | 2)  /* struct timeval: returns it */
#define SBIOCCTIME (SBIOC | 3)  /* nothing: no limit of time */
#define SBIOCSCHUNK (SBIOC | 4) /* unsigned int: sets the size of a chunk in bytes; 0: each message is sent alone */
#define SBIOCGCHUNK (SBIOC | 5) /* unsigned int: returns it */
#define SBIOCSSNAP (SBIOC | 6)  /* unsigned int: sets the length in bytes to which messages are cut; 0: none is cut */
#define SBIOCGSNAP (SBIOC | 7)  /* unsigned int: returns it */
#define SBIOCSFLAGS (SBIOC | 8) /* unsigned int: sets SB_* */
#define SBIOCGFLAGS (SBIOC | 9) /* unsigned int: returns them */

#define SB_SEND_ON_WRITE 0x01 /* a message that goes down sends the chunk up */
#define SB_NO_HEADER 0x02     /* no sb_hdr before a message */
#define SB_NO_PROTO_CVT 0x04  /* an M_PROTO is passed on as it is */
#define SB_DEFER_CHUNK 0x08   /* the time starts with the second message of a chunk */
#define SB_NO_DROPS 0x10      /* a full stream holds the sender back; no message is dropped */

/* The time when a message came. Each field has 32 bits, on LP64 too. */
struct sb_time {
    unsigned int tv_sec; /* seconds since 1970, modulo 2^32 */
    unsigned int tv_usec;
};

/* The header of each message in a chunk. */
struct sb_hdr {
    unsigned int sbh_origlen; /* bytes of the message as it came */
    unsigned int sbh_msglen;  /* bytes that are left of it */
    unsigned int sbh_totlen;  /* bytes to the next header: this header, the message and padding */
    unsigned int sbh_drops;   /* messages that were dropped since the module was pushed */
    struct sb_time sbh_timestamp;
};

#ifdef __cplusplus
}
#endif

#endif
