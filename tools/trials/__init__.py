"""Trials of kinfolk by chance: many runs that are disturbed, and a count of what was lost, wrong or left over."""
