"""Faults of the system that a test asks for."""

import errno
import os


def fail_at_call(patch, name, number):
    """Have call `number`, from 1, of the function `os.NAME` find a full disk; return the list that calls are noted in."""
    original, calls = getattr(os, name), []

    def failing(*arguments, **options):
        calls.append(name)
        if len(calls) == number:
            raise OSError(errno.ENOSPC, "No space left on device")  # an error that names no file
        return original(*arguments, **options)

    patch.setattr(os, name, failing)
    return calls
