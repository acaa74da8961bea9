/* An event of 32 bytes from C. */
#include "measure.h"

#include <headwater/trace.h>

HEADWATER_EVENT(step, "cost:event", (u64, first), (u32, second), (u32, third));

MEASURE_MAIN("event", step(number, 1, 2))
