"""The command line: ``regal optimize``, ``verify``, ``inspect``, ``trace`` and ``convert``."""
