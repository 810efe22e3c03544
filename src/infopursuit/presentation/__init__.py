"""What people see: sentences, reports, plots, notebooks."""
