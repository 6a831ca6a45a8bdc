"""llrt's compiler, a library that package llrt opens: nothing to import."""
