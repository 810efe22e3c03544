"""Programs: command line, server, jobs, and the data sets and models that come with the package."""
