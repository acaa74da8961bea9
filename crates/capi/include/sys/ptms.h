/* The master side of pseudo-terminals: commands of I_STR on a stream of `ptm`. ptm(7). */
#ifndef _SYS_PTMS_H
#define _SYS_PTMS_H

#define PTMIOC (('P') << 8)
#define ISPTM (PTMIOC | 1)    /* nothing: the value is the slave's number; EINVAL on a stream that is no master */
#define UNLKPT (PTMIOC | 2)   /* nothing: lets the slave be opened */
#define ZONEPT (PTMIOC | 4)   /* anything: no effect */
#define PT_OWNER (PTMIOC | 5) /* anything: no effect */
#define OWNERPT (PTMIOC | 6)  /* anything: no effect */

#endif
