"""What every other folder uses: checks of arguments, text, files, progress, threads."""
