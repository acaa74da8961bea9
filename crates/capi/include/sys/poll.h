/*
 * The system's <sys/poll.h>, which <poll.h> includes, and the events of streams, which the system's defines only for some
 * feature test macros.
 */
#pragma GCC system_header
#include_next <sys/poll.h>

#include <sys/strpoll.h>
