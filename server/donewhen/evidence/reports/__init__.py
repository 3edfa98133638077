"""Test results as runners write them: JUnit XML, SARIF, TAP and the lines that they print.

`finding` picks the report of this very run; `printed` reads what runners print at their end.
"""
