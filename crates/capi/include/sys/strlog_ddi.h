/* strlog of the DDI/DKI. The text is formatted in the module, since a library cannot pass on the arguments of a call. */
#ifndef _SYS_STRLOG_DDI_H
#define _SYS_STRLOG_DDI_H

#include <stdarg.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef SL_FATAL
#define SL_FATAL 0x01
#define SL_NOTIFY 0x02
#define SL_ERROR 0x04
#define SL_TRACE 0x08
#define SL_CONSOLE 0x10
#define SL_WARN 0x20
#define SL_NOTE 0x40
#endif

/* 1 if every logger that asks for the message has got it, else 0. */
int hw_strlog(short mid, short sid, char level, unsigned short flags, const char *text);

__attribute__((format(printf, 5, 6), unused)) static inline int
strlog(short mid, short sid, char level, unsigned short flags, const char *format, ...)
{
	char text[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	return hw_strlog(mid, sid, level, flags, text);
}

#ifdef __cplusplus
}
#endif

#endif
