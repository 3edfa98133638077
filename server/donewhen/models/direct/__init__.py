"""Official clients in the server's own process: what is a plain endpoint of OpenAI's format, and Anthropic's Messages.

A reader begins with `clients`, which is the transport; `openai` and `anthropic` are the two ways to ask.

Invariant: a client is imported when the first model needs it, and sends no key, header or address that it finds in the
environment.
"""
