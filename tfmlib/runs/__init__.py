"""A training run: settings, folder, session, failures, log, console, translator and commands."""
