/* The requests of the module sockmod, as commands of I_STR. sockmod(7). */
#ifndef _SYS_SOCKMOD_H
#define _SYS_SOCKMOD_H

#include <sys/timod.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The numbers are this library's own. */
#define SOCKMOD (('s') << 8)
#define SI_CONNECT (SOCKMOD | 1)        /* struct T_conn_req */
#define SI_START_CONNECT (SOCKMOD | 2)  /* struct T_conn_req */
#define SI_FINISH_CONNECT (SOCKMOD | 3) /* nothing */
#define SI_ACCEPT (SOCKMOD | 4)         /* struct T_conn_res */
#define SI_SHUTDOWN (SOCKMOD | 5)       /* a uint32_t: 0, 1, 2 as shutdown(2) */
#define SI_SETPEERNAME (SOCKMOD | 6)    /* an address, or nothing */
#define SI_GETPEERNAME (SOCKMOD | 7)    /* nothing; an address */
#define SI_GETERROR (SOCKMOD | 8)       /* nothing; the error is the value of the ioctl */
#define SI_AWAIT_CONNECT (SOCKMOD | 9)  /* nothing */

#ifdef __cplusplus
}
#endif

#endif
