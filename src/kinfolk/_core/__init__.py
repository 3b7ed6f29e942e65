"""What every layer uses and that knows no other: errors, files, progress, threads, checks of arguments."""
