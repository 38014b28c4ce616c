"""From a program to machine code: target, emitter, compiler, linker. Nothing here knows an operator."""
