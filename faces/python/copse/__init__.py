"""The `copse` command and package: launching MPI programs with Copse preloaded, tables and plots."""
