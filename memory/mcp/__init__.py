"""Memory's tools for agents, spoken over the Model Context Protocol."""
