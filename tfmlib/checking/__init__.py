"""The engine of the exercises: call an answer, compare, diagnose, tell, and prove all that."""
