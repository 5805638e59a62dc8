"""The contract: messages, limits, errors and interfaces that everything else is written against."""
