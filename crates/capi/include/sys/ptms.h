/* The master side of pseudo-terminals: commands of I_STR on a stream of `ptm`. ptm(7). */
#ifndef _SYS_PTMS_H
#define _SYS_PTMS_H

#define PTMIOC (('P') << 8)
#define ISPTM (PTMIOC | 1)  /* nothing: 0 on a master, EINVAL on another stream */
#define UNLKPT (PTMIOC | 2) /* nothing: lets the slave be opened */

#endif
