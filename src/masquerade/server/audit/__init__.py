"""The audit log: surveyors' actions, with their objects and days."""
