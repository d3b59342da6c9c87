"""The `copse` command and package: launches MPI programs with Copse preloaded, and makes tables and plots."""
