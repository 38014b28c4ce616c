"""Kernels on devices that are no processors, whatever language their driver takes.

``kernels.py`` has what a driver is, and kernels that run by one. ``functions.py`` makes operators functions of a device's arrays.
``device_plan.py`` runs the calls of a graph there (ogive.engine.plan). ogive.opencl and ogive.cuda have a driver each.
"""
