"""The schema of the REST API, OpenAPI 3.1, and the page that shows it. Built when it is first asked for."""
