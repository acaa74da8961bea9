/* The Transport Level Interface of SVR4, whose calls XTI has taken over: t_open(3) and the others. */
#ifndef _TIUSER_H
#define _TIUSER_H

#include <xti.h>

/* Of SVR4 and not of XTI: the provider has failed; such a value is never returned. */
#define T_ERROR 0x0020
/* A state between others, and how many states there are. */
#define T_FAKE 8
#define T_NOSTATES 9

/* The text of an error E is t_errlist[E] if E is less than t_nerr; t_strerror(E) is one for any number. */
extern char *t_errlist[];
extern int t_nerr;

#endif
