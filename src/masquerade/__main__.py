"""``python -m masquerade`` is the command ``masquerade``."""

from masquerade.cli import main

main()
