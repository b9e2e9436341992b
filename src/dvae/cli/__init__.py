"""The command line: parse, call the library, print. One file per command; `main` puts them together.

What is heavy (torch, matplotlib) is imported inside the commands, so that `--help` answers at once.
"""
