/* The administrative driver: modules that are pushed when a device is opened (autopush). sad(7). */
#ifndef _SYS_SAD_H
#define _SYS_SAD_H

#include <sys/types.h>

#include <sys/stropts.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Requests of ioctl(2) on a stream of `sad`. */
#define SADIOC (('D') << 8)
#define SAD_SAP (SADIOC | 1) /* struct strapush *: sets the modules of a device */
#define SAD_GAP (SADIOC | 2) /* struct strapush *: returns them */
#define SAD_VML (SADIOC | 3) /* struct str_list *: 0 if all names are modules, 1 if one is not */

/* Values of sap_cmd. */
#define SAP_CLEAR 0 /* removes what was set */
#define SAP_ONE 1   /* one minor number */
#define SAP_RANGE 2 /* sap_minor to sap_lastminor */
#define SAP_ALL 3   /* every minor number */

/* The most modules of a device. */
#define MAXAPUSH 8

/* SAD_SAP, SAD_GAP. */
struct strapush {
    unsigned int sap_cmd;                  /* SAP_* */
    unsigned int sap_major;                /* the major number of the driver: sad_major() */
    unsigned int sap_minor;                /* the minor number of the device, or the first of a range */
    unsigned int sap_lastminor;            /* the last of a range */
    unsigned int sap_npush;                /* how many modules */
    char sap_list[MAXAPUSH][FMNAMESZ + 1]; /* the first is pushed first */
};

/* Returns the major number of a driver: a hash of its name (FNV-1a without the highest bit), the same on all machines. */
static __inline unsigned int sad_major(const char *driver) {
    unsigned int hash = 0x811c9dc5u;
    while (*driver != '\0') {
        hash = (hash ^ (unsigned char)*driver++) * 0x01000193u;
    }
    return hash & 0x7fffffffu;
}

#ifdef __cplusplus
}
#endif

#endif
