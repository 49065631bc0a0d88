import type { Reporter, SerializedError, TestModule } from "vitest/node";

/**
 * Prints `N passed, N failed, N skipped` alone on the last line. A file that does not load and an error outside every
 * test count as failures, which vitest's own totals leave out.
 */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    const count = { passed: 0, failed: unhandledErrors.length, skipped: 0, pending: 0 };
    for (const module of modules) {
      count.failed += module.errors().length;
      for (const test of module.children.allTests()) count[test.result().state] += 1;
    }
    const failed = String(count.failed + count.pending);
    const line = `${String(count.passed)} passed, ${failed} failed, ${String(count.skipped)} skipped`;
    process.on("exit", () => process.stdout.write(`${line}\n`));
  }
}
