/* Log messages of modules, drivers and programs: strlog(3), log(7). */
#ifndef _SYS_STRLOG_H
#define _SYS_STRLOG_H

#ifdef __cplusplus
extern "C" {
#endif

/* Which loggers a message is for, and what it is about. */
#define SL_FATAL 0x01   /* the error is fatal; with SL_ERROR */
#define SL_NOTIFY 0x02  /* the administrator should be notified; with SL_ERROR */
#define SL_ERROR 0x04   /* for the error logger */
#define SL_TRACE 0x08   /* for trace loggers */
#define SL_CONSOLE 0x10 /* for the console, which has no logger here */
#define SL_WARN 0x20    /* a warning */
#define SL_NOTE 0x40    /* a notice */

/*
 * Submits a message of module `mid` about device `sid`. The text is formatted as by printf(3). Returns 1, or 0 if a logger that
 * asks for the message did not get it.
 */
int strlog(short mid, short sid, char level, unsigned short flags, const char *format, ...)
#if defined(__GNUC__) || defined(__clang__)
    __attribute__((format(printf, 5, 6)))
#endif
    ;

#ifdef __cplusplus
}
#endif

#endif
