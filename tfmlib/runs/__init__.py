"""A training run: its settings and folder, the session that trains, and the translator it makes."""
