# From Loops to Graphs. `make` alone says what each target does; `make -n TARGET` shows its commands.

# Settings, changed on the command line: make test ARCH=x86-64 BUILD=build/portable CXX=clang++
ARCH  := native
BUILD := build
SAN   :=# for example address,undefined
# For make run and make NN: the prompt, the variant, the device, and any further flags of the program.
PROMPT := Why is the sky blue?
V      :=
DEVICE :=
ARGS   :=
export PROMPT

ifeq ($(origin CXX),default)
CXX := $(shell for c in g++ clang++; do command -v $$c >/dev/null && echo $$c && break; done || echo g++)
endif
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell getconf _NPROCESSORS_ONLN)
endif

# One order of summation, so the same bits everywhere: products are fused into fma where the code says so, nowhere else.
MARCH    := $(if $(filter arm64 aarch64,$(shell uname -m)),-mcpu,-march)=$(ARCH)
CXXFLAGS := -std=c++20 -O3 $(MARCH) -ffp-contract=off -Wall -Wextra -Wshadow -Werror
LDFLAGS  := -pthread
ifneq ($(SAN),)
CXXFLAGS += -g -fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer
endif
# build/deps holds the libraries' headers where the system has none of them (common/setup.sh).
COMPILE := $(CXX) $(CXXFLAGS) -I. -isystem build/deps/usr/include -MMD -MP
LINK    := $(CXX) $(CXXFLAGS) $(LDFLAGS)
LIBS    := -Lbuild/deps/lib -lutf8proc

# Every .cpp is found by its place. All but the main files form one library; a lesson is its main.cpp,
# a test program is tests/test_X.cpp, and both link what they use from the library.
lessons  := $(patsubst lessons/%/main.cpp,%,$(wildcard lessons/[0-9][0-9]_*/main.cpp))
library  := $(wildcard common/*.cpp weights/*.cpp kernels/*.cpp kernels/*/*.cpp) \
            $(filter-out %/main.cpp,$(wildcard lessons/*/*.cpp))
tests    := $(patsubst tests/%.cpp,%,$(wildcard tests/test_*.cpp))
programs := $(addprefix $(BUILD)/,$(lessons))
sources  := $(library) $(lessons:%=lessons/%/main.cpp) $(wildcard tests/*.cpp)
object    = $(addprefix $(BUILD)/obj/,$(1:.cpp=.o))

SMOLLM2 := weights/models/SmolLM2-135M-Instruct.Q4_1.gguf
MODEL   := $(SMOLLM2)
needs_model := 05% 06% 07%# these lessons write text

help:  ## this page
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## /{printf "  make %-18s %s\n", $$1, $$2}' Makefile
	@echo "  make NN              builds and runs lesson NN (make 01, make attention), V=, DEVICE=, ARGS="
	@echo "  make test-NN         builds and runs the tests of lesson NN"
	@echo "Start: make run, then make 01, make test-01"

run: $(BUILD)/00_run $(MODEL)  ## a real model answers: PROMPT="...", ARGS= for more flags
	@$(BUILD)/00_run --model $(MODEL) --chat "$$PROMPT" --temperature 0 --max-tokens 64 $(ARGS)

test: $(tests:%=$(BUILD)/tests/%) try-model  ## every test, at most 5 minutes
	@python3 tests/run.py --rules $(tests:%=$(BUILD)/tests/%)

build: $(programs) compile_commands.json  ## every program

clean:  ## removes build/; the model stays
	rm -rf $(BUILD) compile_commands.json

setup:  ## installs what is missing; DEPS=local keeps it under build/deps
	@CXX="$(CXX)" sh common/setup.sh $(DEPS)

model: $(SMOLLM2)  ## fetches the model (93 MB) once
$(SMOLLM2): | setup
	@sh weights/get_model.sh $@
try-model: | setup
	@test -e $(SMOLLM2) || sh weights/get_model.sh $(SMOLLM2) || true

format:  ## clang-format over every source
	clang-format -i $(sources) $(wildcard common/*.hpp weights/*.hpp kernels/*.hpp kernels/*/*.hpp lessons/*/*.hpp tests/*.hpp)

# Lesson 01_attention answers to 01, 01_attention and attention; its tests to test-01 and test-01_attention.
define lesson_rules
$(1) $(firstword $(subst _, ,$(1))) $(patsubst $(firstword $(subst _, ,$(1)))_%,%,$(1)): $(BUILD)/$(1) $(if $(filter $(needs_model),$(1)),$(MODEL))
	@$(BUILD)/$(1) $(if $(filter $(needs_model),$(1)),--model $(MODEL)) $(if $(V),--variant $(V)) $(if $(DEVICE),--device $(DEVICE)) $(ARGS)
.PHONY: $(1) $(firstword $(subst _, ,$(1))) $(patsubst $(firstword $(subst _, ,$(1)))_%,%,$(1))
endef
define test_rules
test-$(1) test-$(firstword $(subst _, ,$(1))): $(BUILD)/tests/test_$(1)
	@python3 tests/run.py $(BUILD)/tests/test_$(1)
.PHONY: test-$(1) test-$(firstword $(subst _, ,$(1)))
endef
$(foreach lesson,$(filter-out 00_run,$(lessons)),$(eval $(call lesson_rules,$(lesson))))
$(foreach test,$(tests:test_%=%),$(eval $(call test_rules,$(test))))
00 00_run: run

$(BUILD)/obj/%.o: %.cpp $(BUILD)/flags | setup
	@mkdir -p $(@D) && echo "  compile $<" && $(COMPILE) -c $< -o $@
$(BUILD)/library.a: $(call object,$(library))
	@rm -f $@ && ar rcs $@ $^
$(programs): $(BUILD)/%: $(BUILD)/obj/lessons/%/main.o $(BUILD)/library.a
	@echo "  link    $@" && $(LINK) $^ $(LIBS) -o $@
$(BUILD)/tests/%: $(BUILD)/obj/tests/%.o $(BUILD)/obj/tests/main.o $(BUILD)/library.a
	@mkdir -p $(@D) && echo "  link    $@" && $(LINK) $^ $(LIBS) -o $@

# Rewritten only when it differs: a change of compiler or flags recompiles, nothing else does.
$(BUILD)/flags: always
	@mkdir -p $(@D) && echo '$(COMPILE) $(LINK)' | cmp -s - $@ || echo '$(COMPILE) $(LINK)' > $@
compile_commands.json: $(BUILD)/flags Makefile  ## for editors
	@for f in $(sources); do printf '%s{"directory": "%s", "file": "%s", "command": "%s -c %s"}' \
	    "$$comma" "$(CURDIR)" $$f "$(COMPILE)" $$f; comma=', '; done | sed 's/.*/[&]/' > $@

-include $(patsubst %.cpp,$(BUILD)/obj/%.d,$(sources))
.SECONDARY:
.PHONY: help run test build clean setup model try-model format always 00 00_run
