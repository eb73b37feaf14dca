"""python -m sapo: the same as the command sapo."""

from sapo.cli.main import main

main()
