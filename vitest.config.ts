import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

// `vitest run --mode long` is for the runs that take hours; tests and the processes they start read the variable.
export default defineConfig(({ mode }) => ({
  test: {
    include: ["test/**/*.test.ts"],
    env: mode === "long" ? { TURNLOG_LONG: "1" } : {},
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Vitest leaves one core alone, which is half of a small machine; many tests wait for disks and processes.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    reporters: ["default", "./test/support/closing-line.ts"],
    coverage: { provider: "v8", include: ["src/**"], reporter: ["text-summary"] },
  },
}));
