"""The package: its commands, its stubs, its speed's honesty is docs/benchmarks'."""

import inspect
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import perfdb
import pytest
from perfdb import _perfdb
from perfdb._tools import launcher


def test_every_tool_is_a_command():
    listed = subprocess.run([*launcher(), "list", "--all"], capture_output=True, text=True, check=True).stdout
    tools = re.findall(r"^  ([a-z0-9-]+) ", listed, re.MULTILINE)
    assert len(tools) > 15
    scripts = Path(sysconfig.get_path("scripts"))
    for name in ["perfdb", *tools]:
        done = subprocess.run([scripts / name, "--version"], capture_output=True, text=True)
        assert done.returncode == 0 and done.stdout.startswith(name), (name, done)


def test_commands_keep_their_exit_status(tmp_path):
    scripts = Path(sysconfig.get_path("scripts"))
    assert subprocess.run([scripts / "compute-m6", "--nothing"], capture_output=True).returncode == 2
    assert subprocess.run([sys.executable, "-m", "perfdb", "compute-m6"], capture_output=True).returncode == 2


def test_commands_write_to_pipes_and_end_at_closed_ones(testdata):
    scripts = Path(sysconfig.get_path("scripts"))
    shown = subprocess.run([scripts / "perfdb", "list"], capture_output=True, text=True, check=True).stdout
    assert shown.endswith("\n") and shown.count("\n") > 10
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([scripts / "perfdb", "list"], stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert "panicked" not in done.stderr and "Traceback" not in done.stderr, done.stderr


def test_links_to_the_command_are_the_tools(tmp_path):
    scripts = Path(sysconfig.get_path("scripts"))
    subprocess.run([scripts / "perfdb", "install-links", tmp_path], capture_output=True, check=True)
    done = subprocess.run([tmp_path / "check-trace", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("check-trace")


def test_there_is_one_copy_of_the_code():
    package = Path(perfdb.__file__).parent
    assert [path.name for path in package.rglob("*") if path.stat().st_size > 1_000_000 and path.is_file()] == [
        Path(_perfdb.__file__).name
    ]


def test_stubs_name_what_the_module_has():
    text = (Path(perfdb.__file__).parent / "_perfdb.pyi").read_text()
    for name, thing in vars(_perfdb).items():
        if name.startswith("_") and name != "__version__":
            continue
        assert re.search(rf"^(class|def) {name}\b|^{name}:", text, re.MULTILINE), name
        if not inspect.isclass(thing) or issubclass(thing, BaseException):
            continue
        body = re.search(rf"^class {name}:\n((?:    .*\n|\n)*)", text, re.MULTILINE).group(1)
        stubbed = set(re.findall(r"def (\w+)", body))
        own = {member for member in vars(thing) if not member.startswith("__")}
        assert own == {member for member in stubbed if not member.startswith("__")}, name
    assert (Path(perfdb.__file__).parent / "py.typed").exists()


def test_everything_public_is_documented():
    for name in perfdb.__all__:
        thing = getattr(perfdb, name)
        if name.startswith("__"):
            continue
        assert thing.__doc__, name
        if inspect.isclass(thing) and thing is not perfdb.Error:
            for member, value in vars(thing).items():
                if not member.startswith("_"):
                    assert value.__doc__, f"{name}.{member}"


def test_licences_are_inside():
    import importlib.metadata

    files = [str(file) for file in importlib.metadata.files("perfdb")]
    for name in ["LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY-LICENSES.yml"]:
        assert any(os.path.basename(file) == name for file in files), name
    assert not importlib.metadata.requires("perfdb")
