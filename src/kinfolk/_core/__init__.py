"""The ground floor, which imports no other layer: errors, files, memory, progress, threads, checks of arguments."""
