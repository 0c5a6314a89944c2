# cloop: `make help` lists the targets. One Makefile, no recursion: a variant (san,
# fuzz, cov) is the same graph with other flags and another build directory.

PREFIX ?= /usr/local
DESTDIR ?=
ifeq ($(origin CC),default)
CC := gcc
endif
VERSION := $(shell sed -n 's/^\#define CLOOP_VERSION "\(.*\)"/\1/p' lib/cli/version.h)

VARIANT := $(firstword $(filter san fuzz cov,$(MAKECMDGOALS)))
ifeq ($(VARIANT),fuzz)
override CC := clang
endif
BUILD ?= build
B := $(if $(VARIANT),$(BUILD)/$(VARIANT),$(BUILD))
BIN := $(B)/bin

# Targets that may install Debian packages first; `all` never does.
WANTS_DEPS := $(filter demo check san fuzz cov bench lint deps docs,$(MAKECMDGOALS))
DEPS := $(if $(WANTS_DEPS),$(BUILD)/.deps-$(firstword $(WANTS_DEPS)))

WARN := -Wall -Wextra -Wshadow -Wformat=2 -Wstrict-prototypes -Wmissing-prototypes -Wvla \
	-Wswitch-enum -Wcast-qual -Wlogical-op -Wduplicated-cond -Wnull-dereference \
	-Wno-error=null-dereference
HARD := -fstack-protector-strong -fstack-clash-protection -fcf-protection=full \
	-ftrivial-auto-var-init=zero -fzero-call-used-regs=used-gpr -fno-common
OPT_ := -O2 -D_FORTIFY_SOURCE=3
OPT_san := -O1 -g -U_FORTIFY_SOURCE -fsanitize=address,undefined -fno-sanitize-recover=all \
	-fno-omit-frame-pointer -DCL_CHECK_SPECS -DCL_SANITIZED
OPT_fuzz := -O1 -g -U_FORTIFY_SOURCE -fsanitize=fuzzer-no-link,address,undefined \
	-fno-sanitize-recover=all -DCL_CHECK_SPECS -DCL_SANITIZED
OPT_cov := -O0 -g --coverage -DCL_CHECK_SPECS
LINK_ := -Wl,-z,relro,-z,now,-z,noexecstack
LINK_san := -fsanitize=address,undefined
LINK_fuzz := -fsanitize=address,undefined
LINK_cov := --coverage

COMMIT := $(shell git -C $(CURDIR) rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
CPPFLAGS := -D_GNU_SOURCE -Ilib -I$(B)/gen
CFLAGS_ALL = -std=gnu17 -g -fPIE $(WARN) $(HARD) $(OPT_$(VARIANT)) $(CFLAGS) $(WERROR)
LDFLAGS_ALL = -pie -Wl,--as-needed $(LINK_$(VARIANT)) $(LDFLAGS)
# Static where Debian has the archive: start time is a feature (DECISIONS D15). The
# linker takes only what a command uses; libmnl has no archive and stays out unless used.
LIBS := -Wl,-Bstatic -lnftnl -lsqlite3 -lyaml -ljansson -lsodium -lbearssl -Wl,-Bdynamic -lmnl -lm
# What only some executables link is in their cmd/NAME/libs; tests may use all of it.
libs_of = $(if $(wildcard cmd/$(1)/libs),$(shell sed '/^\#/d' cmd/$(1)/libs))
TEST_LIBS := $(LIBS) -lcrypto

# --- what there is to build ---
LAYERS := work wire seal store sys cli policy base
ARCHIVES := $(foreach l,$(LAYERS),$(if $(wildcard lib/$(l)/*.c lib/$(l)/*/*.c),$(B)/lib/lib$(l).a))
# A command has a table. What has none runs inside a sandbox, or is a part of a command that links
# what the command itself need not.
COMMANDS := $(notdir $(patsubst %/,%,$(dir $(wildcard cmd/*/spec.c))))
STATIC := cloop-init cloop-isolation-probe cloop-confine-test cloop-device-trial
PARTS := $(filter-out $(COMMANDS) $(STATIC),$(notdir $(patsubst %/,%,$(dir $(wildcard cmd/*/main.c)))))
PROGRAMS := $(addprefix $(BIN)/,$(COMMANDS) $(PARTS) $(STATIC))
UNITS := $(patsubst t/unit/%.c,$(B)/t/unit/%,$(wildcard t/unit/u-*.c))
FUZZ := $(patsubst t/fuzz/%.c,$(B)/t/fuzz/%,$(wildcard t/fuzz/f-*.c))
HELPERS := $(patsubst t/lib/%.c,$(B)/t/lib/%,$(filter-out t/lib/faults.c,$(wildcard t/lib/*.c))) \
	$(B)/t/lib/faults.so
objs = $(patsubst %.c,$(B)/obj/%.o,$(wildcard $(1)/*.c $(1)/*/*.c))

all: $(PROGRAMS)
.PHONY: all demo check install uninstall deps lint san fuzz bench cov docs help clean format
.DELETE_ON_ERROR:

help:
	@echo 'make all        build every executable into $(BIN)'
	@echo 'make demo       run one confined workload, from nothing (root; installs packages)'
	@echo 'make check      run every test (root; installs packages)'
	@echo 'make install    install below PREFIX=$(PREFIX), DESTDIR=$(DESTDIR)'
	@echo 'make uninstall  remove what install put there'
	@echo 'make deps       install what building and testing need'
	@echo 'make docs       make man pages and completions again from the tables'
	@echo 'make lint       compilers, cppcheck, shellcheck, clang-format, mandoc, sizes, layers'
	@echo 'make san        every test under address and undefined-behaviour sanitizers'
	@echo 'make fuzz       each fuzz target for FUZZ_SECONDS=60'
	@echo 'make bench      the figures, as ratios against their peers'
	@echo 'make cov        line coverage of the tests'

$(BUILD)/.deps-%: share/deps.sh
	@mkdir -p $(@D)
	sh share/deps.sh $*
	@touch $@

deps: $(DEPS)

# --- compiling ---
# Which of the flags this compiler takes is asked once; the answer is a response file.
$(B)/flags: Makefile share/cflags.sh | $(DEPS)
	@mkdir -p $(@D)
	@sh share/cflags.sh '$(CC)' $(CFLAGS_ALL) > $@

$(B)/obj/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(CC) @$(B)/flags $(CPPFLAGS) $(if $(findstring cmd/cloop/help.c,$<),-DCLOOP_COMMIT='"$(COMMIT)"') \
		-MMD -MP -c -o $@ $<

$(B)/obj/lib/store/migrate.o: CPPFLAGS += -I$(B)/gen
$(B)/obj/lib/store/migrate.o: $(B)/gen/schema.inc
# The directory too: one that was renamed is as old as it was.
$(B)/gen/schema.inc: share/embed-schema.sh share/schema $(wildcard share/schema/*.sql)
	@mkdir -p $(@D)
	sh share/embed-schema.sh $(sort $(wildcard share/schema/*.sql)) > $@.new && mv $@.new $@

$(B)/obj/lib/sys/hub_template.o: $(B)/gen/config-template.inc
$(B)/gen/config-template.inc: share/embed-text.sh share/config.yaml.in
	@mkdir -p $(@D)
	sh share/embed-text.sh share/config.yaml.in > $@

# Written only when it is another one, so that an incremental build says which commit it is of.
.PHONY: commit-is-asked
commit-is-asked:
$(B)/commit: commit-is-asked
	@mkdir -p $(@D)
	@echo '$(COMMIT)' | cmp -s - $@ || echo '$(COMMIT)' > $@
$(B)/obj/cmd/cloop/help.o: $(B)/commit

define archive
$(B)/lib/lib$(1).a: $(call objs,lib/$(1))
	@mkdir -p $$(@D)
	@rm -f $$@
	ar rcs $$@ $$^
endef
$(foreach l,$(LAYERS),$(eval $(call archive,$(l))))

# Linked whole, which saves a third of a start (sanitizers and coverage cannot be): the front command,
# which stands before every other, and what a run waits for while it is lent something.
WHOLE := $(if $(VARIANT),,cloop cloop-secret)
LINK_whole := -static-pie -Wl,--wrap=dlopen

define program
$(BIN)/$(1): $(call objs,cmd/$(1)) $(ARCHIVES)
	@mkdir -p $$(@D)
	$(CC) $$(if $(filter $(1),$(WHOLE)),$$(filter-out -pie,$$(LDFLAGS_ALL)) $$(LINK_whole),$$(LDFLAGS_ALL)) \
		-o $$@ $(call objs,cmd/$(1)) $(ARCHIVES) \
		$$(if $(filter $(1),$(WHOLE)),$$(filter-out -lmnl -Wl%,$$(LIBS)),$$(LIBS)) $(call libs_of,$(1))
endef
$(foreach c,$(COMMANDS) $(PARTS),$(eval $(call program,$(c))))

# Runs inside any sandbox, whatever its libc: small and static.
define static
$(BIN)/$(1): $(wildcard cmd/$(1)/*.c cmd/$(1)/*.h) | $(DEPS)
	@mkdir -p $$(@D)
	musl-gcc -std=gnu17 -D_GNU_SOURCE -Os -Wall -Wextra -static -s -o $$@ $$(filter %.c,$$^)
endef
$(foreach c,$(STATIC),$(eval $(call static,$(c))))

# --- documents: man pages and completions out of the tables ---
$(B)/docgen: $(call objs,lib/docgen) $(B)/lib/libbase.a
	$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS)

DOC_SPECS := $(patsubst %,$(B)/spec/%.json,$(COMMANDS))
$(B)/spec/%.json: $(BIN)/%
	@mkdir -p $(@D)
	$< --cl-spec > $@

docs: $(B)/docgen $(DOC_SPECS)
	@mkdir -p man completions
	@$(BIN)/cloop-hub config keys --json > $(B)/spec/config-keys
	@$(B)/docgen config $(B)/spec/config-keys cmd/cloop-hub/config.mdoc > man/cloop-config.yaml.5
	@sh share/man.sh '$(B)' man $(COMMANDS)
	@$(B)/docgen bash $(DOC_SPECS) > completions/cloop.bash
	@$(B)/docgen zsh $(DOC_SPECS) > completions/_cloop
	@$(B)/docgen fish $(DOC_SPECS) > completions/cloop.fish

# --- tests ---
$(B)/t/unit/%: t/unit/%.c t/unit/unit.h t/unit/main.awk $(ARCHIVES) $(B)/flags
	@mkdir -p $(@D)
	@awk -f t/unit/main.awk $< > $@-main.c
	$(CC) @$(B)/flags $(CPPFLAGS) -It/unit -DT_CASES='"$(CURDIR)/t/cases"' -MMD -MP -MF $@.d \
		$(LDFLAGS_ALL) -o $@ $< $@-main.c $(ARCHIVES) $(TEST_LIBS)

# Without clang's driver each target replays its corpus, so that none rots unseen.
ifeq ($(VARIANT),fuzz)
FUZZ_MAIN := -fsanitize=fuzzer
else
FUZZ_MAIN := t/fuzz/replay.c
endif
$(B)/t/fuzz/%: t/fuzz/%.c t/fuzz/replay.c $(ARCHIVES) $(B)/flags
	@mkdir -p $(@D)
	$(CC) @$(B)/flags $(CPPFLAGS) -It/fuzz -MMD -MP -MF $@.d $(LDFLAGS_ALL) -o $@ $< $(FUZZ_MAIN) \
		$(ARCHIVES) $(TEST_LIBS)

# What is linked whole loads no faults: the same of it, linked as the others are.
$(B)/t/loads/cloop-secret: $(call objs,cmd/cloop-secret) $(ARCHIVES)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS)
$(B)/t/lib/faults.so: | $(B)/t/loads/cloop-secret
$(B)/t/lib/%.so: t/lib/%.c $(B)/flags
	@mkdir -p $(@D)
	$(CC) -std=gnu17 -D_GNU_SOURCE $(if $(VARIANT),-DT_NO_MALLOC) -O1 -fPIC -shared -o $@ $<
$(B)/t/lib/%: t/lib/%.c $(ARCHIVES) $(B)/flags
	@mkdir -p $(@D)
	$(CC) @$(B)/flags $(CPPFLAGS) -MMD -MP -MF $@.d $(LDFLAGS_ALL) -o $@ $< $(ARCHIVES) $(TEST_LIBS)

TESTED := all $(UNITS) $(FUZZ) $(HELPERS)
check san: $(TESTED)
	BUILD_DIR=$(abspath $(B)) bash t/run $(T)

cov: $(TESTED)
	@find $(B) -name '*.gcda' -delete
	BUILD_DIR=$(abspath $(B)) bash t/run $(T)
	@gcov -n $$(find $(B)/obj -name '*.gcno') 2>/dev/null | bash t/lib/cov-table.sh

FUZZ_SECONDS ?= 60
fuzz: $(FUZZ)
	BUILD_DIR=$(abspath $(B)) bash t/fuzz/run $(FUZZ_SECONDS)

bench: all $(HELPERS)
	BUILD_DIR=$(abspath $(B)) bash t/bench/run

lint: all docs
	BUILD_DIR=$(abspath $(B)) bash t/lint/run

demo: all
	BUILD_DIR=$(abspath $(B)) bash share/demo.sh

format:
	clang-format -i $$(git ls-files '*.c' '*.h')

# --- installing ---
install: all
	BUILD_DIR=$(abspath $(B)) sh share/install.sh install '$(DESTDIR)' '$(PREFIX)'

uninstall:
	BUILD_DIR=$(abspath $(B)) sh share/install.sh uninstall '$(DESTDIR)' '$(PREFIX)'

clean:
	rm -rf $(BUILD)

-include $(shell find $(B)/obj $(B)/t -name '*.d' 2>/dev/null)
