"""Every operator, written once. The one place to add one."""
