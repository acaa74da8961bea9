/* The program with an event of the tracer's C header. */
#include "paced.h"

#include <headwater/trace.h>

HEADWATER_EVENT(step, "cost:event", (u64, first), (u32, second), (u32, third));

PACED_MAIN(step(number, sum, 2))
