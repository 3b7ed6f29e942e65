"""What the clusterers share."""
