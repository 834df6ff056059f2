"""One file a verb of the command line; each has `run(call)` and returns an exit code."""
