"""One file per operator family, one small function per operator; `reference.table` says which version means which."""
