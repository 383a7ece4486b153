"""The studies, one module each; each declares `STUDY`."""
