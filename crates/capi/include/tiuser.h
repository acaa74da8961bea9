/* The Transport Level Interface of SVR4. XTI has the same calls: t_open(3) and the others. */
#ifndef _TIUSER_H
#define _TIUSER_H

#include <xti.h>

/* A value of SVR4 that XTI does not have: the provider has failed. It is never returned. */
#define T_ERROR 0x0020
/* A state between two others, and the number of states. */
#define T_FAKE 8
#define T_NOSTATES 9

/* The text of an error E is t_errlist[E] if E is less than t_nerr. t_strerror(E) returns a text for any number. */
extern char *t_errlist[];
extern int t_nerr;

#endif
