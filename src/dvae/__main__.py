"""`python -m dvae`: the command line without the installed script."""

from dvae.cli.main import main

if __name__ == "__main__":
    main()
