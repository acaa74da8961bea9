/* Options of the internet's transports for t_optmgmt() (XNS 5.2, appendix). */
#ifndef _XTI_INET_H
#define _XTI_INET_H

#include <xti.h>

/* The level of TCP. */
#define INET_TCP 0x6
#define T_INET_TCP INET_TCP
#define T_TCP_NODELAY 0x1   /* T_YES or T_NO: sends small segments at once */
#define T_TCP_MAXSEG 0x2    /* the longest segment in bytes; read only */
#define T_TCP_KEEPALIVE 0x8 /* struct t_kpalive */

/* The level of UDP. */
#define INET_UDP 0x11
#define T_INET_UDP INET_UDP
#define T_UDP_CHECKSUM 0x0600 /* T_YES or T_NO: datagrams have a checksum */

/* The level of IP. */
#define INET_IP 0x0
#define T_INET_IP INET_IP
#define T_IP_OPTIONS 0x1   /* options of the IP header */
#define T_IP_TOS 0x2       /* one byte: SET_TOS */
#define T_IP_TTL 0x3       /* time to live */
#define T_IP_REUSEADDR 0x4 /* T_YES or T_NO: a local address that is in use may be bound */
#define T_IP_DONTROUTE 0x10 /* T_YES or T_NO */
#define T_IP_BROADCAST 0x20 /* T_YES or T_NO */

/* Precedence of T_IP_TOS. */
#define T_ROUTINE 0
#define T_PRIORITY 1
#define T_IMMEDIATE 2
#define T_FLASH 3
#define T_OVERRIDEFLASH 4
#define T_CRITIC_ECP 5
#define T_INETCONTROL 6
#define T_NETCONTROL 7

/* Type of service of T_IP_TOS. */
#define T_NOTOS 0
#define T_LDELAY 0x10
#define T_HITHRPT 0x08
#define T_HIREL 0x04
#define T_LOCOST 0x02
#define SET_TOS(precedence, service) ((0x7 & (precedence)) << 5 | (0x1e & (service)))

#endif
