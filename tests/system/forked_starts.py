"""Starts by children of a shell that runs a judged text, which are none of its forks.

Each is a program in Python whose argument is a word for echo to say.
"""

__all__ = ["FORKED_WAYS"]

FORKED = """\
import ctypes, os, sys, time
ends, kept = os.pipe()
shell = os.fork()
if shell:
    os.close(ends), os.close(kept)
    os.wait()
    sys.exit(126)
def until(name, process):
    while name not in os.readlink(f"/proc/{process}/exe"):
        time.sleep(0.01)
def becomes(*words):
    os.dup2(ends, 0)
    os.close(ends), os.close(kept)
    os.execv("/bin/bash", ["bash", *words])
def starts(*words):
    os.set_inheritable(kept, True)  # until it ends
    os.execv(words[0], words)
me = os.getpid()
"""
BEFORE_TEXT = """
if os.fork():
    becomes("-c", "read line; true")
until("bash", me)
starts("/bin/echo", sys.argv[1])
"""
ADOPTED = """
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # a subreaper
if os.fork():
    becomes("-c", "read line; true")
middle = os.getpid()
until("bash", me)
if os.fork():
    os._exit(0)
while os.getppid() == middle:
    time.sleep(0.01)
starts("/bin/echo", sys.argv[1])
"""
BEFORE_STREAM = """
if os.fork():
    becomes()
os.write(kept, b"true\\n")
while b"--stream" not in open(f"/proc/{me}/cmdline", "rb").read():
    time.sleep(0.01)
starts("/bin/bash", "-c", "echo " + sys.argv[1])
"""

FORKED_WAYS = {
    "forked before a text": FORKED + BEFORE_TEXT,
    "adopted by a text": FORKED + ADOPTED,
    "forked before a stream": FORKED + BEFORE_STREAM,
}
