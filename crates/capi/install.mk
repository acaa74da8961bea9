# Installs the C library, its headers, headwater.pc and the man pages. The Makefile includes this file and builds the library into
# $(BUILD). $(VERSION) and $(SONAME) are those of the library.
#
#   make install            installs everything
#   make install-files      installs only the headers, headwater.pc and the man pages; it builds nothing
#   make uninstall          removes what install has installed
#
# DESTDIR is put before every installed path. PREFIX, LIBDIR, INCLUDEDIR, MANDIR and PKGCONFIGDIR are the directories of the files
# when programs use them. The headers have a folder of their own, which headwater.pc names. So the system's <sys/poll.h> is replaced
# only for programs that ask for it.

PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
PKGCONFIGDIR ?= $(LIBDIR)/pkgconfig
INSTALL ?= install

FROM := $(patsubst %/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))
HEADERS := $(patsubst $(FROM)/include/%,%,$(wildcard $(FROM)/include/*.h $(FROM)/include/sys/*.h))
PAGES := $(notdir $(wildcard $(FROM)/man/*.[1-9]))
# man3/getmsg.3 for getmsg.3
in-section = man$(patsubst .%,%,$(suffix $(1)))/$(1)
# The path below the prefix, as pkg-config writes it.
below = $(patsubst $(PREFIX)/%,$${prefix}/%,$(1))

LIBRARIES = libheadwater.so.$(VERSION) $(SONAME) libheadwater.so libheadwater.a
INSTALLED = $(addprefix $(LIBDIR)/,$(LIBRARIES)) $(addprefix $(INCLUDEDIR)/headwater/,$(HEADERS)) \
    $(PKGCONFIGDIR)/headwater.pc $(foreach page,$(PAGES),$(MANDIR)/$(call in-section,$(page)))

install: all install-files
	$(INSTALL) -d $(DESTDIR)$(LIBDIR)
	$(INSTALL) -m 755 $(BUILD)/libheadwater.so.$(VERSION) $(DESTDIR)$(LIBDIR)
	ln -sf libheadwater.so.$(VERSION) $(DESTDIR)$(LIBDIR)/$(SONAME)
	ln -sf $(SONAME) $(DESTDIR)$(LIBDIR)/libheadwater.so
	$(INSTALL) -m 644 $(BUILD)/libheadwater.a $(DESTDIR)$(LIBDIR)

install-files:
	$(INSTALL) -d $(addprefix $(DESTDIR)$(INCLUDEDIR)/headwater/,$(sort $(dir $(HEADERS))))
	$(foreach header,$(HEADERS),$(INSTALL) -m 644 $(FROM)/include/$(header) $(DESTDIR)$(INCLUDEDIR)/headwater/$(header) &&) true
	$(INSTALL) -d $(addprefix $(DESTDIR)$(MANDIR)/man,$(sort $(patsubst .%,%,$(suffix $(PAGES)))))
	$(foreach page,$(PAGES),$(INSTALL) -m 644 $(FROM)/man/$(page) $(DESTDIR)$(MANDIR)/$(call in-section,$(page)) &&) true
	$(INSTALL) -d $(DESTDIR)$(PKGCONFIGDIR)
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(call below,$(LIBDIR))|' \
	    -e 's|@INCLUDEDIR@|$(call below,$(INCLUDEDIR))|' -e 's|@VERSION@|$(VERSION)|' \
	    $(FROM)/headwater.pc.in >$(DESTDIR)$(PKGCONFIGDIR)/headwater.pc
	chmod 644 $(DESTDIR)$(PKGCONFIGDIR)/headwater.pc

# Folders that other packages may use stay.
uninstall:
	rm -f $(addprefix $(DESTDIR),$(INSTALLED))
	-rmdir $(DESTDIR)$(INCLUDEDIR)/headwater/sys $(DESTDIR)$(INCLUDEDIR)/headwater 2>/dev/null

.PHONY: install install-files uninstall
