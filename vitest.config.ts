import { availableParallelism } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import SlowestFirst from "./test/support/slowest-first.ts";
import { browserPath } from "./test/support/studio/browser-path.ts";

const processes = "test/**/*.process.test.ts";
/** What the README and the documents say, which is tried on a build. */
const documents = "test/docs/**/*.test.ts";
/** What takes long, and of which a short form is elsewhere: `npm run test:slow`. */
const slow = ["test/package/**/*.test.ts", "test/**/*.slow.test.ts"];
const browsers = "test/apps/{studio,web}/**/*.browser.test.ts";
const withoutBrowser = "test/apps/studio/**/*.no-browser.test.ts";
const planted = "test/**/*.planted.test.ts";
/** What takes long and starts no process: `npm run test:quick` does without. */
const notQuick = [
  "test/{coherence,faults,replay,testing/rehearsal}/**",
  "test/stores/eventstoredb/**",
  "test/{engine/run/append-plan,stores/sqlite/damaged-log,apps/cli/same-digests,providers/every-provider,providers/claude-cli/claude-cli,providers/responses/background}.test.ts",
];

// `vitest run --mode quick` is for the minute after a change, and `--mode long` for the runs that take hours; tests and the processes they start
// read the variables.
export default defineConfig(({ mode }) => ({
  test: {
    env: {
      // What Node makes of the sources is kept for the next process that a test starts.
      NODE_COMPILE_CACHE: join(import.meta.dirname, "node_modules/.cache/node"),
      ...(mode === "long" ? { TURNLOG_LONG: "1" } : {}),
      ...(mode === "quick" ? { TURNLOG_CASES: "2" } : {}),
    },
    // Node runs the sources as they stand, and compiles them once for all workers: rewritten by vite they cost an eighth more.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // Examples import the package by its name; in the process of a test that is its sources.
    execArgv: ["--import", join(import.meta.dirname, "test/support/package/source-entries.ts")],
    setupFiles: ["./test/support/drawn-properties.ts"],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // The files of a worker share what they import: no test leaves anything behind that another one would meet.
    isolate: false,
    // One more than there are cores: many tests wait for disks, processes and silence, but each worker compiles what it imports by itself.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: SlowestFirst },
    reporters: ["default", "./test/support/closing-line.ts"],
    coverage: { provider: "v8", include: ["src/**", "packages/*/src/**"], reporter: ["text-summary"] },
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: [
            ...[processes, documents, ...slow, planted, browsers, withoutBrowser],
            ...(mode === "quick" ? notQuick : []),
          ],
        },
      },
      // Tests that start processes, and kill them; the documents, whose programs import what was built.
      {
        extends: true,
        test: { name: "process", include: [processes, documents], globalSetup: "./test/support/build-programs.ts" },
      },
      // Suites that take long, among them the repository as others get it: the tarball, its commands on an old Node, the examples, the
      // checks. `npm test` leaves this project out, and `.ci/run` runs it.
      {
        extends: true,
        test: {
          name: "slow",
          include: slow,
          globalSetup: ["./test/support/build-programs.ts", "./test/support/package/build-package.ts"],
        },
      },
      // The studio's page in a browser: `npm run test:browser`.
      ...(mode === "browser"
        ? [
            {
              extends: true as const,
              test: {
                name: "browser",
                include: [browserPath === null ? withoutBrowser : browsers],
                globalSetup: "./test/support/studio/build-page.ts",
                maxWorkers: 1,
              },
            },
          ]
        : []),
      // Faults in the sources, each of which has to make a suite fail: `npm run test:faults`.
      ...(mode === "long" || mode === "faults"
        ? [{ extends: true as const, test: { name: "planted", include: [planted] } }]
        : []),
    ],
  },
}));
