/* The requests of the module timod, as commands of I_STR. timod(7). */
#ifndef _SYS_TIMOD_H
#define _SYS_TIMOD_H

#include <sys/tihdr.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TIMOD (('T') << 8)
#define TI_GETINFO (TIMOD | 140)    /* struct T_info_req; struct T_info_ack */
#define TI_OPTMGMT (TIMOD | 141)    /* struct T_optmgmt_req; struct T_optmgmt_ack */
#define TI_BIND (TIMOD | 142)       /* struct T_bind_req; struct T_bind_ack */
#define TI_UNBIND (TIMOD | 143)     /* struct T_unbind_req; struct T_ok_ack */
#define TI_GETADDRS (TIMOD | 149)   /* struct T_addr_req; struct T_addr_ack. This library's own number */
#define TI_CAPABILITY (TIMOD | 150) /* struct T_capability_req; struct T_capability_ack. This library's own number */

#ifdef __cplusplus
}
#endif

#endif
