# make install PREFIX=/usr/local DESTDIR=: program, libraries, header, Python module, pkg-config file, manual pages, completions, examples.
# `make uninstall` with the same settings removes exactly that.

BINDIR  ?= $(PREFIX)/bin
LIBDIR  ?= $(PREFIX)/lib
INCDIR  ?= $(PREFIX)/include
# pitot looks for its agent there, seen from BINDIR.
AGENTDIR = $(BINDIR)/../lib/pitot
MANDIR  ?= $(PREFIX)/share/man
DOCDIR  ?= $(PREFIX)/share/doc/pitot
BASHDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR  ?= $(PREFIX)/share/zsh/site-functions
FISHDIR ?= $(PREFIX)/share/fish/vendor_completions.d

SOVERSION := $(firstword $(subst ., ,$(VERSION)))
EXAMPLES   = $(shell find examples -type f -not -path '*/work/*' -not -path '*/__pycache__/*' -not -name .gitignore)
DOCUMENTS  = $(wildcard README.md CHANGELOG.md LICENSE docs/*.md docs/*.json)

.PHONY: install uninstall
install: all $(BUILD)/pitot.pc
	install -d $(addprefix $(DESTDIR),$(BINDIR) $(LIBDIR)/pkgconfig $(INCDIR) $(MANDIR)/man1 $(MANDIR)/man5 $(DOCDIR) \
	           $(BASHDIR) $(ZSHDIR) $(FISHDIR))
	install -m 755 $(BUILD)/pitot $(DESTDIR)$(BINDIR)/pitot
	install -m 755 $(BUILD)/libpitot.so $(DESTDIR)$(LIBDIR)/libpitot.so.$(VERSION)
	ln -sf libpitot.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libpitot.so.$(SOVERSION)
	ln -sf libpitot.so.$(SOVERSION) $(DESTDIR)$(LIBDIR)/libpitot.so
	install -m 644 $(BUILD)/libpitot.a $(DESTDIR)$(LIBDIR)/libpitot.a
	install -D -m 755 $(BUILD)/libpitot-agent.so $(DESTDIR)$(AGENTDIR)/libpitot-agent.so
	install -D -m 755 $(BUILD)/libpitot-agent-memory.so $(DESTDIR)$(AGENTDIR)/libpitot-agent-memory.so
	install -m 644 include/pitot.h $(DESTDIR)$(INCDIR)/pitot.h
	install -D -m 644 python/pitot.py $(DESTDIR)$(AGENTDIR)/python/pitot.py
	install -m 644 $(BUILD)/pitot.pc $(DESTDIR)$(LIBDIR)/pkgconfig/pitot.pc
	install -m 644 $(filter %.1,$(MAN_PAGES)) $(DESTDIR)$(MANDIR)/man1
	$(if $(filter %.5,$(MAN_PAGES)),install -m 644 $(filter %.5,$(MAN_PAGES)) $(DESTDIR)$(MANDIR)/man5)
	$(BUILD)/pitot completion bash > $(DESTDIR)$(BASHDIR)/pitot
	$(BUILD)/pitot completion zsh > $(DESTDIR)$(ZSHDIR)/_pitot
	$(BUILD)/pitot completion fish > $(DESTDIR)$(FISHDIR)/pitot.fish
	install -m 644 $(DOCUMENTS) $(DESTDIR)$(DOCDIR)
	@for f in $(EXAMPLES); do install -D -m 644 $$f $(DESTDIR)$(DOCDIR)/$$f || exit 1; done

uninstall:
	rm -f $(addprefix $(DESTDIR),$(BINDIR)/pitot $(LIBDIR)/libpitot.so.$(VERSION) $(LIBDIR)/libpitot.so.$(SOVERSION) \
	      $(LIBDIR)/libpitot.so $(LIBDIR)/libpitot.a $(INCDIR)/pitot.h $(LIBDIR)/pkgconfig/pitot.pc \
	      $(patsubst docs/man/%,$(MANDIR)/man1/%,$(filter %.1,$(MAN_PAGES))) \
	      $(patsubst docs/man/%,$(MANDIR)/man5/%,$(filter %.5,$(MAN_PAGES))) \
	      $(BASHDIR)/pitot $(ZSHDIR)/_pitot $(FISHDIR)/pitot.fish)
	rm -rf $(DESTDIR)$(DOCDIR) $(DESTDIR)$(AGENTDIR)

# Always anew: PREFIX may be another than last time.
$(BUILD)/pitot.pc: pitot.pc.in FORCE
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@INCDIR@|$(INCDIR)|' -e 's|@VERSION@|$(VERSION)|' $< > $@
