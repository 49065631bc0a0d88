import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    testTimeout: 120_000,
    reporters: ["default", "./test/closing-line.ts"],
    coverage: { provider: "v8", include: ["src/**"], reporter: ["text-summary"] },
  },
});
