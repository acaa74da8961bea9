"""Runs one module of Python's own tests and writes the outcome of each test: `outcomes.py FILE MODULE [TEST...]`.

A line is the outcome and the test's name. `cargo xtask preload` compares the lines of a run with the library and of one without.
"""

import sys
import unittest

from test import support


class Outcomes(unittest.TestResult):
    """Keeps the worst outcome of each test."""

    RANK = ["ok", "skipped", "expected failure", "unexpected success", "failure", "error"]

    def __init__(self):
        super().__init__()
        self.seen = {}
        self.texts = []

    def note(self, test, outcome, error=None):
        name = test.id()
        if self.RANK.index(outcome) >= self.RANK.index(self.seen.get(name, "ok")):
            self.seen[name] = outcome
        if error is not None:
            self.texts.append(f"{name}: {self._exc_info_to_string(error, test)}")

    def addSuccess(self, test):
        self.note(test, "ok")

    def addSkip(self, test, reason):
        self.note(test, "skipped")

    def addExpectedFailure(self, test, error):
        self.note(test, "expected failure")

    def addUnexpectedSuccess(self, test):
        self.note(test, "unexpected success")

    def addFailure(self, test, error):
        self.note(test, "failure", error)

    def addError(self, test, error):
        self.note(test, "error", error)

    def addSubTest(self, test, subtest, error):
        if error is not None:
            is_failure = issubclass(error[0], test.failureException)
            self.note(test, "failure" if is_failure else "error", error)


def main():
    path, module, *names = sys.argv[1:]
    # No network, no large files, nothing audible.
    support.use_resources = []
    sys.argv = sys.argv[:1]
    loader = unittest.defaultTestLoader
    suite = loader.loadTestsFromNames(names or [f"test.{module}"])
    outcomes = Outcomes()
    suite.run(outcomes)
    with open(path, "w", encoding="utf-8") as file:
        for name, outcome in sorted(outcomes.seen.items()):
            print(outcome, name, sep="\t", file=file)
        for text in outcomes.texts:
            print("text", text.replace("\n", "\n\t"), sep="\t", file=file)


if __name__ == "__main__":
    main()
