"""The service: API, pages and webhook, one host of the core among others."""
