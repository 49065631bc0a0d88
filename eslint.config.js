import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";

const pureFloors = [
  "src/base/**",
  "src/domain/**",
  "src/projections/**",
  "src/analysis/descriptions/**",
  "src/analysis/costs/prices/**",
];

/** Clocks, randomness, I/O and what only Node has; node modules are dependency-cruiser's affair. */
const impure = [
  "Date",
  "performance",
  "setTimeout",
  "setInterval",
  "setImmediate",
  "queueMicrotask",
  "crypto",
  "fetch",
  "WebSocket",
  "process",
  "Buffer",
  "require",
  "console",
];

export default defineConfig(
  { ignores: ["dist", "dist-test", "coverage", "*.config.js", ".dependency-cruiser.js", "tools", "scratch"] },
  tseslint.configs.strictTypeChecked,
  { languageOptions: { parserOptions: { projectService: true } } },
  {
    rules: {
      // A number in a message is what the reader needs; String(n) around each adds nothing.
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true, allowBoolean: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      // `_` names what is left out on purpose.
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_$" }],
      // Interfaces ask for async functions; an implementation that needs no await is still right.
      "@typescript-eslint/require-await": "off",
    },
  },
  {
    // A hook into a foreign program decides nothing, so it is short.
    files: ["src/integrations/*/**"],
    ignores: ["src/integrations/importers/**"],
    rules: { "max-lines": ["error", { max: 200 }] },
  },
  {
    files: pureFloors,
    rules: {
      "no-restricted-globals": ["error", { globals: impure, checkGlobalObject: true }],
      "no-restricted-properties": ["error", { object: "Math", property: "random" }],
    },
  },
);
