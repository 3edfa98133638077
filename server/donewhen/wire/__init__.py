"""What leaves the process as JSON or as a report: snapshots for clients, receipts for people and programs.

A reader begins with `snapshot`, which docs/protocol.md describes; `reports` holds one module per format.
"""
