"""HTTP itself: errors, headers, limits, padding, files of the app, logs and metrics."""
