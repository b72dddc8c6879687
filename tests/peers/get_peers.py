"""llama.cpp's own bench tools, built once from the source that the llama-cpp-python package carries, and an f32
copy of the model: all of it in build/peers, where the next run finds it."""
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PEERS, VENV = ROOT / "build/peers", ROOT / "build/venv"
MODEL = ROOT / "weights/models/SmolLM2-135M-Instruct.Q4_1.gguf"
F32_MODEL = PEERS / "SmolLM2-135M-Instruct.F32.gguf"
TOOLS = ["llama-bench", "llama-batched-bench"]
VERSION = "0.3.36"
SOURCE_SUM = "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"
OPTIONS = ["CMAKE_BUILD_TYPE=Release", "GGML_NATIVE=ON", "BUILD_SHARED_LIBS=OFF", "LLAMA_BUILD_TESTS=OFF",
           "LLAMA_BUILD_EXAMPLES=OFF", "LLAMA_BUILD_SERVER=OFF", "LLAMA_OPENSSL=OFF"]


class Missing(Exception):
    """One line: what is missing and what to do."""


def call(command, otherwise):
    """Runs a step of the set-up, its output in a log; a step that fails is one line."""
    log = PEERS / "build.log"
    with log.open("a") as out:
        print("+", *command, file=out, flush=True)
        try:
            status = subprocess.call([str(c) for c in command], stdout=out, stderr=out, cwd=ROOT)
        except OSError as error:
            raise Missing(f"{otherwise} ({error.strerror}: {command[0]})")
    if status: raise Missing(f"{otherwise} (see {log.relative_to(ROOT)})")


def python_with(*packages):
    """build/venv's Python, with these packages in it."""
    python = VENV / "bin/python"
    if not (VENV / "bin/pip").exists():
        call([sys.executable, "-m", "venv", VENV], "no Python venv: apt-get install python3-venv")
    have = subprocess.run([python, "-m", "pip", "list", "--format", "freeze"], capture_output=True, text=True).stdout
    names = {line.split("==")[0].lower() for line in have.splitlines()}
    wanted = [p for p in packages if p not in names]
    if wanted: call([python, "-m", "pip", "install", "-q", *wanted], f"pip cannot install {' '.join(wanted)}: is there a network?")
    return python


def source():
    """The folder of llama.cpp's source."""
    folder = PEERS / "source"
    if folder.exists(): return folder
    archive = PEERS / f"llama_cpp_python-{VERSION}.tar.gz"
    if not archive.exists():
        call([python_with(), "-m", "pip", "download", "-q", "--no-deps", "--no-binary", "llama-cpp-python", "-d", PEERS,
              f"llama-cpp-python=={VERSION}"], f"pip cannot download llama-cpp-python {VERSION}: is there a network?")
    if hashlib.sha256(archive.read_bytes()).hexdigest() != SOURCE_SUM:
        archive.unlink()
        raise Missing(f"{archive.name} has another sha256 than expected; it is removed: run this again")
    partial = PEERS / "unpacking"
    shutil.rmtree(partial, ignore_errors=True)
    with tarfile.open(archive) as tar:
        prefix = f"llama_cpp_python-{VERSION}/vendor/llama.cpp/"
        members = [m for m in tar if m.name.startswith(prefix)]
        tar.extractall(partial, members=members)
    (partial / prefix).rename(folder)
    shutil.rmtree(partial)
    archive.unlink()
    return folder


def tools():
    """Paths of the peer's programs."""
    paths = [PEERS / "build/bin" / tool for tool in TOOLS]
    if not all(p.exists() for p in paths):
        print("building llama.cpp once, into build/peers (about ten minutes on two cores)", flush=True)
        cmake = shutil.which("cmake")
        if not cmake:
            python_with("cmake")
            cmake = VENV / "bin/cmake"
        build = PEERS / "build"
        call([cmake, "-S", source(), "-B", build, *("-D" + o for o in OPTIONS)], "cmake cannot configure llama.cpp")
        call([cmake, "--build", build, "-j", os.cpu_count() or 1, "--target", *TOOLS], "llama.cpp does not build")
    return paths


def f32_model():
    """The model with every tensor as f32."""
    if not F32_MODEL.exists():
        if not MODEL.exists(): raise Missing("no model: make model")
        call([python_with("gguf"), ROOT / "tests/golden/f32_copy.py", MODEL, F32_MODEL], "the f32 copy of the model failed")
    return F32_MODEL
