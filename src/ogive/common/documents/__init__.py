"""JSON that other people wrote: read with its places, so that every refusal says the file, the line and the path."""
