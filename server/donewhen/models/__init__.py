"""The seam to language models: everything that knows litellm, which runs in a process of its own."""
