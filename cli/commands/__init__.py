"""The subcommands, a module each: the options here, the work elsewhere."""
