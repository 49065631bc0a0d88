import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";

const pureFloors = ["src/base/**", "src/domain/**", "src/projections/**"];

export default defineConfig(
  { ignores: ["dist", "coverage", "*.config.*", ".dependency-cruiser.js", "tools"] },
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
    files: pureFloors,
    rules: {
      "no-restricted-globals": ["error", "Date", "fetch", "setTimeout", "setInterval", "crypto", "performance"],
      "no-restricted-properties": ["error", { object: "Math", property: "random" }],
    },
  },
);
