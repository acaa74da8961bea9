/* Its description, in the form for LTTng-UST, which includes it several times. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER headwater_cost

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./lttng_event.h"

#if !defined(LTTNG_EVENT_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define LTTNG_EVENT_H

#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(
    headwater_cost, event,
    LTTNG_UST_TP_ARGS(uint64_t, first, uint32_t, second, uint32_t, third),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(uint64_t, first, first)
        lttng_ust_field_integer(uint32_t, second, second)
        lttng_ust_field_integer(uint32_t, third, third)))

#endif

#include <lttng/tracepoint-event.h>
