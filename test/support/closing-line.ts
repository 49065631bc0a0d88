import type { Reporter, SerializedError, TestModule } from "vitest/node";

/**
 * Prints `N passed, N failed, N skipped` alone on the last line. What vitest's own totals leave out counts as a failure
 * too: a file that does not load, a hook that throws, an error outside every test, a test that was still running.
 */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    const count = { passed: 0, failed: unhandledErrors.length, skipped: 0, pending: 0 };
    for (const module of modules) {
      count.failed += module.errors().length;
      for (const suite of module.children.allSuites()) count.failed += suite.errors().length;
      for (const test of module.children.allTests()) count[test.result().state] += 1;
    }
    process.on("exit", (exitCode) => {
      const failed = count.failed + count.pending;
      // Whatever else made the run fail, the line must not read as if all were well.
      const told = failed === 0 && exitCode !== 0 ? 1 : failed;
      process.stdout.write(`${count.passed} passed, ${told} failed, ${count.skipped} skipped\n`);
    });
  }
}
