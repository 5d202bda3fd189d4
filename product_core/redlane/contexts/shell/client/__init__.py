"""The shell wrapper in Python, for where there was no C compiler to build it with.

It behaves as `redlane/wrapper/*.c` does, module for file; the same tests run on both.
It must start fast, so it runs under `python -IS`, imports only what is built into the
interpreter, and nothing else of Redlane.
"""
