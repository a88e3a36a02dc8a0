"""The audit log: actions of surveyors on surveys, accounts and teams, by day."""
