"""The checks: one file a subsystem, one function a property, one parameter a device."""
