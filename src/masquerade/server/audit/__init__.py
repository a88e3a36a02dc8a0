"""The audit log: which surveyor did what to which object, on which day."""
