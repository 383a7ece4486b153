"""The web application: routes, messages, refusals and what every request must pass."""
