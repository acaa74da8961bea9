/* The log driver: its ioctls and messages. log(7). */
#ifndef _SYS_LOG_H
#define _SYS_LOG_H

#include <sys/strlog.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Commands of I_STR on a stream of `log`. */
#define LOGCTL (('L') << 8)
#define I_TRCLOG (LOGCTL | 1) /* struct trace_ids[1 to LOGIDSMAX]: the stream becomes a trace logger */
#define I_ERRLOG (LOGCTL | 2) /* nothing: the stream becomes the error logger */
#define I_LOGLOST (LOGCTL | 0x80) /* nothing: the value is how many messages the logger has lost. An extension of this library */

/* The longest text of a message in bytes. */
#define LOGMAX 4072
/* The most entries that one trace logger may ask for. */
#define LOGIDSMAX 64
/* The `mid` of messages that processes submit by putmsg. */
#define LOG_MID 44

/* The control part of a log message; the data part is the text. A submitter sets level, flags and pri. */
struct log_ctl {
    short mid;
    short sid;
    char level;
    unsigned short flags; /* SL_* */
    unsigned int ltime;   /* hundredths of a second of the monotonic clock, modulo 2^32 */
    unsigned int ttime;   /* seconds since 1970, modulo 2^32 */
    int seq_no;
    int pri; /* a facility and a code of <syslog.h> */
};

/* The messages that a trace logger asks for; -1 in a field means all. */
struct trace_ids {
    short ti_mid;
    short ti_sid;
    char ti_level; /* the highest level */
};

#ifdef __cplusplus
}
#endif

#endif
