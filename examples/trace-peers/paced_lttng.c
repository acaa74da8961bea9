/* The program with a tracepoint of LTTng-UST. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_event.h"

#include "paced.h"

PACED_MAIN(lttng_ust_tracepoint(headwater_cost, event, number, sum, 2))
