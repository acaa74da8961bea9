/* The rest of the DDI/DKI that modules of STREAMS use. See strmod(9). */
#ifndef _SYS_DDI_H
#define _SYS_DDI_H

#include <sys/stream.h>
#include <sys/strlog.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KM_SLEEP 0
#define KM_NOSLEEP 1

void *kmem_alloc(size_t size, int flag) HW_DDI_NAME(kmem_alloc);
void *kmem_zalloc(size_t size, int flag) HW_DDI_NAME(kmem_zalloc);
void kmem_free(void *buffer, size_t size) HW_DDI_NAME(kmem_free);

/* parm of drv_getparm: LBOLT is ticks since boot, PPGRP the process group, PPID the process, PSID the session, TIME seconds since
 * 1970, UCRED the address of a cred_t. */
#define LBOLT 1
#define PPGRP 2
#define UPROCP 3
#define PPID 4
#define PSID 5
#define TIME 6
#define UCRED 7
int drv_getparm(unsigned int parm, void *value) HW_DDI_NAME(drv_getparm);
clock_t drv_usectohz(clock_t microseconds) HW_DDI_NAME(drv_usectohz);
clock_t drv_hztousec(clock_t ticks) HW_DDI_NAME(drv_hztousec);

#ifdef __cplusplus
}
#endif

#endif
