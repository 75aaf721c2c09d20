"""What a run leaves (the journal) and what is made of it."""
