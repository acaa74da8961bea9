/*
 * The system's <sys/poll.h>, which <poll.h> includes, with the events of streams added. The system's header defines those
 * events only for some feature test macros.
 */
#pragma GCC system_header
#include_next <sys/poll.h>

#include <sys/strpoll.h>
