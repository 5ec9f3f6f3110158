# SPDX-License-Identifier: MIT
#
# Makefile - builds, tests and checks garth.
# Not here: installing what the build needs (scripts/deps.sh), running the tests (tests/run.sh).
#
#   make            everything into build/bin
#   make deps       what the build and the tests need (packages; libfuse where the distribution's is old)
#   make test       deps, build, all tests; ends with "N passed, 0 failed, M skipped"
#   make check SAN=address,undefined    the same under sanitizers, in build/san-address-undefined
#   make vm         the tests that depend on the kernel, in a virtual machine with Debian's own and cgroup v2 (slow)
#   make demo       the example, whole
#   make lint layers shape banned       what must hold before a commit
#
# One folder at a time:    make FOLDERS='core policy' libs tests
# One test at a time:      make tests && tests/run.sh unit/ring
# Another place:           make B=/tmp/mine

SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules

ifeq ($(origin CC),default)
CC := gcc
endif
AR := ar
VERSION := $(shell cat VERSION)
FOLDERS ?= core policy index fs exec guest api cli
SAN ?=
comma := ,
ROOT_B := build
B ?= $(ROOT_B)$(if $(SAN),/san-$(subst $(comma),-,$(SAN)))
DEPS := $(ROOT_B)/deps
GEN := $(B)/gen

# ---- flags ------------------------------------------------------------------------------------

WARN := -Wall -Wextra -Werror -Wconversion -Wsign-conversion -Wshadow -Wformat=2 -Wstrict-prototypes \
	-Wmissing-prototypes -Wold-style-definition -Wcast-qual -Wwrite-strings -Wpointer-arith \
	-Wundef -Wvla -Wswitch-enum -Wnull-dereference -Wimplicit-fallthrough
# gcc takes no (void)f() for an answer; `make lint` has clang look at results that are not
WARN += $(if $(findstring gcc,$(CC)),-Wno-unused-result)
BRANCHES := $(if $(filter x86_64,$(shell uname -m)),-fcf-protection,-mbranch-protection=standard)
HARDEN := -O2 -g -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -fstack-protector-strong \
	-fstack-clash-protection $(BRANCHES) -ftrivial-auto-var-init=pattern
FUZZ_CFLAGS = -std=c17 -D_GNU_SOURCE -I. -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
HARDEN_LD := -Wl,-z,relro,-z,now -Wl,-z,noexecstack -Wl,--as-needed
ifneq ($(SAN),)
# gcc sees null dereferences in the sanitizers' own branches
HARDEN := -O1 -g -fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all -Wno-null-dereference
HARDEN_LD := -fsanitize=$(SAN)
endif

pkg = $(shell pkg-config $(1) 2>/dev/null)
LIBS_CFLAGS := $(subst -I,-isystem ,$(call pkg,--cflags libfyaml libmicrohttpd jansson sqlite3 libseccomp libcrypto \
	libcurl))
FYAML := $(call pkg,--libs libfyaml)
MHD := $(call pkg,--libs libmicrohttpd)
JSON := $(call pkg,--libs jansson)
SQLITE := $(call pkg,--libs sqlite3)
SECCOMP := $(call pkg,--libs libseccomp)
CRYPTO := $(call pkg,--libs libcrypto)
CURL := $(call pkg,--libs libcurl)
CMOCKA := $(call pkg,--libs cmocka)
ifneq ($(shell pkg-config --atleast-version=3.17 fuse3 2>/dev/null && echo yes),)
FUSE_CFLAGS := $(subst -I,-isystem ,$(call pkg,--cflags fuse3))
FUSE := $(call pkg,--libs fuse3)
else
FUSE_CFLAGS := -isystem $(DEPS)/fuse/include/fuse3
FUSE := $(DEPS)/fuse/lib/libfuse3.a -lpthread -ldl -lrt
endif

CFLAGS ?=
LDFLAGS ?=
override CFLAGS += -std=c17 -D_GNU_SOURCE -I. -I$(GEN) -DGARTH_VERSION=\"$(VERSION)\" \
	-DFUSE_USE_VERSION=317 -D_FILE_OFFSET_BITS=64 -fno-common -fPIE -pthread \
	$(WARN) $(HARDEN) $(LIBS_CFLAGS) $(FUSE_CFLAGS)
override LDFLAGS += $(HARDEN_LD) -pthread

# ---- what there is ----------------------------------------------------------------------------

MAINS := fs/main.c exec/garthd_main.c exec/keeper_main.c guest/init_main.c api/main.c cli/main.c
obj = $(patsubst %.c,$(B)/obj/%.o,$(1))

GEN_index := $(if $(wildcard migrations/*.sql),$(B)/obj/gen/migrations.o)
GEN_guest := $(patsubst guest/%.py,$(B)/obj/gen/%_py.o,$(sort $(wildcard guest/*.py)))
GEN_api := $(if $(wildcard docs/openapi.yaml),$(B)/obj/gen/openapi_yaml.o)

sources = $(filter-out $(MAINS),$(sort $(wildcard $(1)/*.c)))
HAVE := $(foreach f,$(FOLDERS),$(if $(call sources,$(f)),$(f)))
LIBS := $(patsubst %,$(B)/lib/lib%.a,$(HAVE))
libs = $(filter $(patsubst %,$(B)/lib/lib%.a,$(1)),$(LIBS))

prog = $(if $(and $(wildcard $(1)),$(filter $(patsubst %/,%,$(dir $(1))),$(FOLDERS))),$(B)/bin/$(2))
BINS := $(call prog,fs/main.c,garth-fs) $(call prog,exec/garthd_main.c,garthd) \
	$(call prog,exec/keeper_main.c,garth-keeper) $(call prog,guest/init_main.c,garth-init) \
	$(call prog,api/main.c,garth-api) $(call prog,cli/main.c,garth)

TEST_KINDS := unit mount exec
OFF := $(filter-out $(FOLDERS),core policy index fs exec guest api cli)
TEST_SRC := $(sort $(foreach k,$(TEST_KINDS),$(wildcard tests/$(k)/*_test.c)))
TEST_SRC := $(filter-out $(foreach k,$(TEST_KINDS),$(OFF:%=tests/$(k)/%_%)),$(TEST_SRC))
TEST_LIB_SRC := $(filter-out $(TEST_SRC),$(sort $(wildcard tests/lib/*.c $(TEST_KINDS:%=tests/%/*.c))))
TEST_BINS := $(patsubst tests/%.c,$(B)/tests/%,$(TEST_SRC))
TEST_PROGS := $(patsubst tests/%.c,$(B)/tests/%,$(sort $(wildcard tests/prog/*.c)))

C_FILES := $(sort $(wildcard $(FOLDERS:%=%/*.c) tests/*/*.c bench/*.c))
H_FILES := $(sort $(wildcard $(FOLDERS:%=%/*.h) tests/*/*.h bench/*.h))

# ---- goals ------------------------------------------------------------------------------------

.PHONY: all libs tests need deps test check vm fuzz demo bench lint layers shape banned headers format \
	clean distclean
all: $(LIBS) $(BINS)
libs: $(LIBS)
tests: all $(TEST_BINS) $(TEST_PROGS)

# Fails at once, with a sentence, where a library is missing.
need:
	@scripts/deps.sh --check build

deps:
	@scripts/deps.sh build test demo

test: deps
	@$(MAKE) --no-print-directory -j$$(nproc) tests
	@tests/run.sh

check: deps
	@$(MAKE) --no-print-directory -j$$(nproc) tests
	@GARTH_BUILD=$(B) GARTH_SAN=$(SAN) tests/run.sh

vm: deps
	@$(MAKE) --no-print-directory -j$$(nproc) tests
	@tests/vm/run.sh

# One libFuzzer target per parser, FUZZ_SECONDS each; what they learn stays in build/fuzz.
FUZZ_SECONDS ?= 60
fuzz: deps
	@CFLAGS='$(FUZZ_CFLAGS)' LIBS='$(FYAML) $(CRYPTO) $(JSON)' scripts/fuzz.sh $(FUZZ_SECONDS)

demo:
	@scripts/demo.sh

bench: deps
	@$(MAKE) --no-print-directory -j$$(nproc) all
	@if [ -x bench/run.sh ]; then exec bench/run.sh; \
	else echo "make bench: there is no bench/run.sh yet" >&2; exit 1; fi

clean:
	rm -rf $(B)/bin $(B)/lib $(B)/obj $(B)/gen $(B)/tests $(B)/test-logs $(ROOT_B)/san-*

distclean:
	rm -rf $(ROOT_B)

# ---- compile ----------------------------------------------------------------------------------

# Written beside and moved: two makes in one tree, or a running program, do no harm.
$(B)/obj/%.o: %.c Makefile VERSION | need
	@mkdir -p $(@D)
	@echo "  CC $<"
	@$(CC) $(CFLAGS) -MMD -MP -MF $(@:.o=.d) -MT $@ -c $< -o $@.$$$$ && mv -f $@.$$$$ $@ \
		|| { rm -f $@.$$$$; exit 1; }

$(B)/obj/gen/%.o: $(GEN)/%.c Makefile | need
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS) -MMD -MP -MF $(@:.o=.d) -MT $@ -c $< -o $@.$$$$ && mv -f $@.$$$$ $@ \
		|| { rm -f $@.$$$$; exit 1; }

$(GEN)/migrations.c: $(sort $(wildcard migrations/*.sql)) scripts/embed.sh
	@mkdir -p $(@D)
	@scripts/embed.sh migrations $(sort $(wildcard migrations/*.sql)) >$@.$$$$ && mv -f $@.$$$$ $@

$(GEN)/%_py.c: guest/%.py scripts/embed.sh
	@mkdir -p $(@D)
	@scripts/embed.sh text guest/$*_py.h guest_$*_py $< >$@.$$$$ && mv -f $@.$$$$ $@

$(GEN)/openapi_yaml.c: docs/openapi.yaml scripts/embed.sh
	@mkdir -p $(@D)
	@scripts/embed.sh text api/openapi_yaml.h api_openapi_yaml $< >$@.$$$$ && mv -f $@.$$$$ $@

define lib_rule
$(B)/lib/lib$(1).a: $(call obj,$(call sources,$(1))) $(GEN_$(1))
	@mkdir -p $$(@D)
	@rm -f $$@.$$$$$$$$ && $(AR) rcs $$@.$$$$$$$$ $$^ && mv -f $$@.$$$$$$$$ $$@
endef
$(foreach f,$(HAVE),$(eval $(call lib_rule,$(f))))

$(B)/lib/libtests.a: $(call obj,$(TEST_LIB_SRC))
	@mkdir -p $(@D)
	@rm -f $@.$$$$ && $(AR) rcs $@.$$$$ $^ && mv -f $@.$$$$ $@

# ---- link -------------------------------------------------------------------------------------

link = echo "  LD $@"; mkdir -p $(@D); \
	$(CC) $(LDFLAGS) $(1) -o $@.$$$$ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(2) \
	&& mv -f $@.$$$$ $@ || { rm -f $@.$$$$; exit 1; }

$(B)/bin/garth-fs: $(call obj,fs/main.c) $(call libs,fs policy index core)
	@$(call link,-pie,$(FUSE) $(SQLITE) $(FYAML) $(CRYPTO))
# Programs that the sanitizers can't be in: a static one, and, where they bring a thread of their own, those
# that clone and unshare. The plain ones stand in for them; only garth-fs has threads anyway.
PLAIN := $(if $(SAN),garth-init) $(if $(findstring thread,$(SAN)),garthd garth-keeper)
own = $(if $(filter $(1),$(PLAIN)),$(1).is-plain,$(B)/bin/$(1))

$(call own,garthd): $(call obj,exec/garthd_main.c) $(call libs,exec policy core)
	@$(call link,-pie,$(SECCOMP) $(FYAML) $(CRYPTO))
$(call own,garth-keeper): $(call obj,exec/keeper_main.c) $(call libs,exec policy core)
	@$(call link,-pie,$(SECCOMP) $(FYAML) $(CRYPTO))
$(B)/bin/garth-api: $(call obj,api/main.c) $(call libs,api index policy core)
	@$(call link,-pie,$(MHD) $(JSON) $(SQLITE) $(FYAML) $(CRYPTO))
$(B)/bin/garth: $(call obj,cli/main.c) $(call libs,cli index policy core)
	@$(call link,-pie,$(CURL) $(JSON) $(SQLITE) $(FYAML) $(CRYPTO))
# Static: inside the sandbox there is no library that it could trust.
$(call own,garth-init): $(call obj,guest/init_main.c) $(call libs,guest core)
	@$(call link,-static-pie,-lcrypto)

ifneq ($(strip $(PLAIN)),)
.PHONY: plain
plain:
	@$(MAKE) --no-print-directory SAN= B=$(ROOT_B) $(PLAIN:%=$(ROOT_B)/bin/%)
$(PLAIN:%=$(B)/bin/%): plain
	@mkdir -p $(@D) && cp $(ROOT_B)/bin/$(@F) $@.$$$$ && mv -f $@.$$$$ $@
endif

# A test may ask for linker options in a comment line of its own:  /* link: -Wl,--wrap=malloc */
TEST_LD = $(shell sed -n 's|^/\* link: \(.*\) \*/$$|\1|p' $(patsubst $(B)/%,%,$@).c)
$(B)/tests/%: $(B)/obj/tests/%.o $(if $(TEST_LIB_SRC),$(B)/lib/libtests.a) $(LIBS)
	@$(call link,-pie $(TEST_LD),$(CMOCKA) $(FUSE) $(MHD) $(CURL) $(JSON) $(SQLITE) $(SECCOMP) $(FYAML) $(CRYPTO))

.SECONDARY:
-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)

# ---- what must hold ---------------------------------------------------------------------------

layers:
	@/usr/bin/python3 scripts/layers.py

shape:
	@scripts/shape.sh

banned:
	@scripts/banned.sh

# Each header compiles alone.
headers: need
	@fail=0; for h in $(filter-out tests/%,$(H_FILES)); do \
		$(CC) $(CFLAGS) -fsyntax-only -x c $$h || fail=1; done; exit $$fail

lint: headers
	@CFLAGS='$(CFLAGS)' scripts/lint.sh $(C_FILES) $(H_FILES)

format:
	@clang-format -i $(C_FILES) $(H_FILES)
