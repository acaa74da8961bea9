/* A tracepoint of LTTng-UST with the same three fields. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_event.h"

#include "measure.h"

MEASURE_MAIN("event", lttng_ust_tracepoint(headwater_cost, event, number, 1, 2))
