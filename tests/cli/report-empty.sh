# Nothing has run yet: say so, and what to do.
pitot report
