# From Loops to Graphs. `make` alone says what each target does; `make -n TARGET` shows its commands.

# Settings, changed on the command line: make test ARCH=x86-64 CXX=clang++ BUILD=build/portable
ARCH  := native
BUILD := build
SAN   :=
# For make run and make NN: prompt, model, variant, device, further flags. For bench, seeded-bugs: some lessons only.
PROMPT  ?= Why is the sky blue?
MODEL    = $(smollm2)
V       :=
DEVICE  :=
ARGS    :=
LESSONS :=
DEPS    :=
# As they were typed: a $ or a quote in a prompt means nothing to make or to the shell.
override PROMPT := $(value PROMPT)
override V      := $(value V)
override DEVICE := $(value DEVICE)
export PROMPT V DEVICE LESSONS DEPS CXX

ifeq ($(origin CXX),default)
CXX := $(shell for c in g++ clang++; do command -v $$c; done | sed -n '1s,.*/,,p' | grep . || echo g++)
endif
# As many jobs as there are cores, unless the command line says -j itself.
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)
endif

# No contraction: a product is fused into an fma where the code says so and nowhere else, so the bits are the same
# whichever compiler and loop. build/deps has the libraries' headers where the system has none (common/setup.sh).
MARCH    := $(if $(filter arm64 aarch64,$(shell uname -m)),-mcpu,-march)=$(ARCH)
CXXFLAGS := -std=c++20 $(if $(SAN),-O1,-O3) $(MARCH) -ffp-contract=off -Wall -Wextra -Wshadow -Werror
ifeq ($(findstring clang,$(shell $(CXX) --version 2>/dev/null)),)
CXXFLAGS += -Wno-restrict -Wno-stringop-overflow  # g++ 12 sees them in std::string, where they are not (its bug 105651)
endif
ifeq ($(shell uname),Darwin)  # where Homebrew keeps the libraries
export CPLUS_INCLUDE_PATH := $(shell brew --prefix)/include
export LIBRARY_PATH       := $(shell brew --prefix)/lib
endif
ifeq ($(SAN),)
CXXFLAGS += -DNDEBUG  # without the checks of every index in tensor.hpp; the sanitizer builds have them
else
CXXFLAGS += -Wno-error -g -fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer
endif
COMPILE := $(CXX) $(CXXFLAGS) -I. -isystem build/deps/libraries/usr/include -MMD -MP
LINK    := $(CXX) $(CXXFLAGS) -pthread
LIBS    := -Lbuild/deps/libraries/lib -lutf8proc

# A source is found by its place. lessons/NN_name/main.cpp becomes $(BUILD)/NN_name, tests/test_X.cpp (with
# tests/main.cpp) $(BUILD)/tests/test_X; every other .cpp goes into one library that both link.
lessons := $(patsubst lessons/%/main.cpp,%,$(wildcard lessons/[0-9][0-9]_*/main.cpp))
tests   := $(patsubst tests/test_%.cpp,%,$(wildcard tests/test_*.cpp))
ifneq ($(SAN),)  # simulated threads run on stacks that the sanitizers do not know: the plain build has those tests
tests   := $(filter-out simt,$(tests))
endif
library := $(wildcard common/*.cpp weights/*.cpp kernels/*.cpp kernels/*/*.cpp) \
           $(filter-out %/main.cpp,$(wildcard lessons/*/*.cpp))
simt    := $(wildcard common/simt/*.cpp)
cuda    := $(wildcard tests/simt/*.cu tests/simt/*/*.cu)
sources := $(library) $(simt) $(lessons:%=lessons/%/main.cpp) $(wildcard tests/*.cpp)
shims   := $(shell find common/simt/include -type f)
headers := $(wildcard common/*.hpp common/simt/*.hpp weights/*.hpp kernels/*.hpp kernels/*/*.hpp lessons/*/*.hpp tests/*.hpp) \
           $(shims) $(cuda) $(wildcard tests/simt/*.cuh)
objects  = $(patsubst %.cpp,$(BUILD)/obj/%.o,$(1))

smollm2       := weights/models/SmolLM2-135M-Instruct.Q4_1.gguf
programs      := $(lessons:%=$(BUILD)/%)
test_programs := $(tests:%=$(BUILD)/tests/test_%)
cuda_programs := $(cuda:%.cu=$(BUILD)/%)

help:
	@awk -F ':.*## ' '/^(# )?[a-zN][^=]*:.*## / { sub(/^# /, ""); sub(/ .*/, "", $$1); printf "  make %-17s %s\n", $$1, $$2 }' Makefile
	@sh common/setup.sh report
	@echo "Start: make run, then make 01, make test-01"

run: $(BUILD)/00_run $(MODEL)  ## a real model answers: PROMPT="...", ARGS="--temperature 0.8"
	@$(BUILD)/00_run --model $(MODEL) --chat "$$PROMPT" $(if $(DEVICE),--device "$$DEVICE") $(or $(ARGS),--temperature 0 --max-tokens 64)
test: $(test_programs) try-model  ## every test, in at most 5 minutes
	@python3 tests/run.py tests/rules.py $(test_programs)
test-long: test  ## the long ones too, then all of it under sanitizers: at most 30 minutes
	@python3 tests/run.py --long --limit 1200 $(test_programs)
	@$(MAKE) test SAN=address,undefined BUILD=$(BUILD)/san
# NN:  ## builds and runs lesson NN (make 01, 01_attention, attention): V=variant, DEVICE=cpu, ARGS=
# test-NN:  ## builds and runs the tests of lesson NN
tests: $(test_programs)
build: $(programs) $(BUILD)/simcc compile_commands.json  ## every program, into build/
sim: $(if $(FILE),$(BUILD)/simcc)  ## compiles and runs a CUDA program without a GPU: FILE=x.cu ARGS=
	@$(if $(FILE),,echo "make sim FILE=x.cu"; exit 2)
	@mkdir -p $(BUILD)/sim && $(BUILD)/simcc '$(FILE)' -o $(BUILD)/sim/program && $(BUILD)/sim/program $(ARGS)
bench: $(programs) $(MODEL)  ## the table over all lessons (LESSONS="01 03" for some)
	@python3 tests/bench.py $(BUILD) $(MODEL)
bench-peers: $(BUILD)/00_run $(MODEL)  ## llama.cpp's own tools and ours, interleaved, on the same file
	@python3 tests/peers/bench_peers.py --build $(BUILD)
seeded-bugs: $(test_programs) try-model  ## each known bug, in a copy: which test catches it?
	@python3 tests/wrong/run.py $(BUILD) BUILD=$(BUILD) CXX=$(CXX) ARCH=$(ARCH) SAN=$(SAN)
setup:  ## gets the libraries that are missing; DEPS=local: into build/deps
	@sh common/setup.sh
model $(smollm2): | setup  ## gets the model (93 MB) once
	@python3 weights/get_model.py
try-model: | setup
	@test -e $(smollm2) || python3 weights/get_model.py || echo "without the model some tests are skipped"
format:  ## clang-format over every source
	@clang-format -i $(sources) $(headers)
clean:  ## removes build/; the model stays
	rm -rf $(BUILD) compile_commands.json

# Lesson 01_attention answers to 01, 01_attention and attention. Those of this list write text with a model.
writes_text := 05_% 06_% 07_%
number  = $(filter 0% 1% 2%,$(firstword $(subst _, ,$(1))))
aliases = $(1) $(call number,$(1)) $(patsubst $(call number,$(1))_%,%,$(1))
define lesson_rules
$(call aliases,$(1)): $(BUILD)/$(1) $(if $(filter $(writes_text),$(1)),$(MODEL))
	@$(BUILD)/$(1) $(if $(filter $(writes_text),$(1)),--model $(MODEL)) \
	    $(if $(V),--variant "$$$$V") $(if $(DEVICE),--device "$$$$DEVICE") $(ARGS)
.PHONY: $(call aliases,$(1))
endef
define test_rules
$(addprefix test-,$(1) $(call number,$(1))): $(BUILD)/tests/test_$(1)
	@python3 tests/run.py $$<
.PHONY: $(addprefix test-,$(1) $(call number,$(1)))
endef
$(foreach lesson,$(filter-out 00_run,$(lessons)),$(eval $(call lesson_rules,$(lesson))))
$(foreach test,$(tests),$(eval $(call test_rules,$(test))))
00 00_run: run

# simcc is told where the repository is, and which g++ to call.
simcc_paths := -DSIMT_ROOT='"$(CURDIR)"' \
               -DSIMT_CXX='"$(if $(findstring clang,$(CXX)),g++,$(CXX))"'
# Two parsers (command lines, test cases) have nothing to optimise, and are compiled in half the time.
unoptimized := common/options.cpp tests/main.cpp
$(BUILD)/obj/%.o: %.cpp $(BUILD)/flags | setup
	@mkdir -p $(@D) && echo "  compile $<" && $(COMPILE) $(if $(filter $(unoptimized),$<),-O0) $(if $(filter %/simcc.cpp,$<),$(simcc_paths)) -c $< -o $@
# Written beside and renamed: somebody may be running the program.
link    = echo "  link    $@" && $(LINK) $^ $(LIBS) -o $@.$$$$ && mv $@.$$$$ $@
archive = ar rcs $@.$$$$ $^ && mv $@.$$$$ $@
$(BUILD)/library.a: $(call objects,$(library))
	@$(archive)
$(programs): $(BUILD)/%: $(BUILD)/obj/lessons/%/main.o $(BUILD)/library.a
	@$(link)
$(test_programs): $(BUILD)/%: $(BUILD)/obj/%.o $(BUILD)/obj/tests/main.o $(BUILD)/library.a
	@mkdir -p $(@D) && $(link)
$(BUILD)/tests/test_00_run: | $(BUILD)/00_run  # these start programs
$(BUILD)/tests/test_programs: | $(programs)
$(BUILD)/tests/test_simt: | $(cuda_programs)
$(BUILD)/tests/test_translate: $(BUILD)/simt.a

# The simulator: what programs are linked with, and simcc, which translates CUDA for g++ and calls it.
$(BUILD)/simt.a: $(call objects,$(filter-out %/simcc.cpp,$(simt)) common/files.cpp common/threads.cpp)
	@$(archive)
$(BUILD)/simcc: $(BUILD)/obj/common/simt/simcc.o $(BUILD)/simt.a $(BUILD)/library.a
	@$(link)
$(cuda_programs): $(BUILD)/%: %.cu $(wildcard tests/simt/*.cuh) $(shims) $(BUILD)/simcc
	@mkdir -p $(@D) && echo "  simcc   $<" && $(BUILD)/simcc -I. $< -o $@
# Rewritten only where it differs: another compiler or other flags compile everything again.
$(BUILD)/flags: always | setup
	@mkdir -p $(@D) && echo "$(COMPILE) $(LINK)" | cmp -s - $@ || echo "$(COMPILE) $(LINK)" > $@
compile_commands.json: $(BUILD)/flags $(sources)
	@for f in $(sources); do echo "$$comma{\"directory\": \"$(CURDIR)\", \"file\": \"$$f\"," \
	    "\"command\": \"$(filter-out -Wno-% -MMD -MP,$(COMPILE)) -c $$f\"}"; comma=,; done | sed '1s/^/[/; $$s/$$/]/' > $@
compile_commands: compile_commands.json  ## for editors
-include $(patsubst %.cpp,$(BUILD)/obj/%.d,$(sources))

.PHONY: help run test test-long tests build sim bench bench-peers seeded-bugs setup model try-model format clean always \
        compile_commands 00 00_run
.SECONDARY:
.DELETE_ON_ERROR:
