/* The program with a static probe, which perf records by a breakpoint (uprobe). */
#include "paced.h"

#include <sys/sdt.h>

PACED_MAIN(STAP_PROBE3(headwater_cost, event, number, sum, 2))
