/* cmn_err of the DDI/DKI: sends a message to the loggers of the log driver (log(7)). CE_PANIC also ends the process. */
#ifndef _SYS_CMN_ERR_H
#define _SYS_CMN_ERR_H

#include <stdarg.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CE_CONT 0
#define CE_NOTE 1
#define CE_WARN 2
#define CE_PANIC 3

void hw_cmn_err(int level, const char *text);

__attribute__((format(printf, 2, 3), unused)) static inline void
cmn_err(int level, const char *format, ...)
{
	char text[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	hw_cmn_err(level, text);
}

#ifdef __cplusplus
}
#endif

#endif
