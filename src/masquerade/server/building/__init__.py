"""Surveys in the making: drafts, templates, plans, and their way from draft to results."""
