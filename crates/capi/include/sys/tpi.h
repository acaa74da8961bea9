/* Types and constants of the Transport Provider Interface that belong to no primitive. sys/tihdr.h has the primitives. */
#ifndef _SYS_TPI_H
#define _SYS_TPI_H

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers of 32 bits. */
#ifndef _T_SCALAR_T
#define _T_SCALAR_T
typedef int t_scalar_t;
typedef unsigned int t_uscalar_t;
#endif

/* TI_CAPABILITY, CAP_bits1. */
#define TC1_INFO 1
#define TC1_ACCEPTOR_ID 2

/* PROVIDER_flag. */
#define T_SNDZERO 0x001

/* DATA_flag of T_OPTDATA_REQ and T_OPTDATA_IND. */
#define T_ODF_MORE 0x01
#define T_ODF_EX 0x02

/* SEQ_number of T_DISCON_REQ and T_DISCON_IND if no waiting connection is meant. */
#define BADSEQNUM (-1)

#ifdef __cplusplus
}
#endif

#endif
