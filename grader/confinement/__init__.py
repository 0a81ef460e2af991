"""What a worker is held to by the kernel. Applied in workers, before anything of a student's."""
