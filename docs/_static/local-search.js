// The search reads each page that it finds to show a line of it, which browsers refuse for files in a
// folder. There it lists the pages alone.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false
