/*
 * I_STR, the ioctl of modules and drivers: a stream of the driver `log` becomes a trace logger by I_TRCLOG, and gets what strlog(3)
 * submits. An ioctl that no module and no driver knows is refused.
 */
#include <fcntl.h>
#include <sys/log.h>
#include <sys/strlog.h>

#include "example.h"

enum { MODULE = 4711 };

int main(void)
{
    char directory[] = "/tmp/headwater-tracer-XXXXXX", text[LOGMAX];
    struct log_ctl control;
    struct trace_ids wanted = {MODULE, -1, 2};
    struct strioctl str = {I_TRCLOG, 5, sizeof wanted, (char *)&wanted};
    struct strbuf ctl = room_of((char *)&control, sizeof control), data = room_of(text, sizeof text);
    int flags = 0, ends[2];

    /* Other programs of this user log elsewhere. */
    CHECK(mkdtemp(directory) != NULL && setenv("HEADWATER_RUNTIME_DIR", directory, 1) == 0);
    alarm(10);
    int tracer = open("/dev/streams/clone/log", O_RDWR);
    CHECK(tracer >= 0 && isastream(tracer) == 1);
    CHECK(ioctl(tracer, I_STR, &str) == 0);

    /* Beyond the level, and another module's: not for this tracer. */
    CHECK(strlog(MODULE, 1, 3, SL_TRACE, "too fine") == 1);
    CHECK(strlog(MODULE + 1, 1, 0, SL_TRACE, "another module's") == 1);
    CHECK(strlog(MODULE, 7, 2, SL_TRACE | SL_NOTE, "%d messages of %s", 12, "line 7") == 1);
    CHECK(getmsg(tracer, &ctl, &data, &flags) == 0 && ctl.len == sizeof control);
    CHECK(control.mid == MODULE && control.sid == 7 && control.level == 2);
    CHECK(control.flags == (SL_TRACE | SL_NOTE));
    /* The text may have a NUL at its end. */
    CHECK(data.len >= 21 && memcmp(text, "12 messages of line 7", 21) == 0);

    str.ic_cmd = I_LOGLOST;
    str.ic_len = 0;
    CHECK(ioctl(tracer, I_STR, &str) == 0);
    stream_pipe(ends);
    CHECK(ioctl(ends[0], I_STR, &str) == -1 && errno == EINVAL);
    str.ic_timout = -2;
    CHECK(ioctl(tracer, I_STR, &str) == -1 && errno == EINVAL);
    CHECK(close(tracer) == 0);

    char command[64];
    snprintf(command, sizeof command, "rm -r %s", directory);
    CHECK(system(command) == 0);
    puts("tracer: ok");
    return 0;
}
