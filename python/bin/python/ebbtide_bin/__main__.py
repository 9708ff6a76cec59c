"""`python -m ebbtide_bin` runs the program."""

from ebbtide_bin import main

main()
