"""For other frameworks and tools: each file for one, and none imported unless it is used."""
