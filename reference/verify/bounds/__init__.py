"""How far a right result may lie from the exact one: a formula for every operator that rounds, by kind of operator."""
