"""Selfplay."""
