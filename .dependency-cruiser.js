/**
 * The floors of `src`, from the ground up: a folder imports from itself and from the lines before its own, never from the
 * lines after it, nor from others of its own line. A folder that is named beside its subfolders means its own files.
 * docs/ARCHITECTURE.md shows the same list.
 */
import floors from "./tools/floors.json" with { type: "json" };

const isSplit = (name) => floors.flat().some((other) => other.startsWith(`${name}/`));
/** The files of a floor's folder; those of its subfolders too, unless they are floors of their own. */
const filesOf = (name) => (name.endsWith(".ts") ? `${name}$` : isSplit(name) ? `${name}/[^/]+$` : `${name}/`);
const anyOf = (names) => `^src/(${names.map(filesOf).join("|")})`;

const importsDownOnly = floors.flatMap((names, index) =>
  names.map((name) => ({
    name: `${name.replace(/[/.]/g, "-")}-imports-down-only`,
    severity: "error",
    from: { path: anyOf([name]) },
    to: { path: "^src/", pathNot: anyOf([name, ...floors.slice(0, index).flat()]) },
  })),
);

/** @type {import("dependency-cruiser").IConfiguration} */
export default {
  forbidden: [
    ...importsDownOnly,
    { name: "no-cycles", severity: "error", from: {}, to: { circular: true } },
    {
      name: "every-file-has-a-floor",
      severity: "error",
      from: { path: "^src/", pathNot: anyOf(floors.flat()) },
      to: {},
    },
    {
      // The judge shares no code with the accused.
      name: "packages-stand-alone",
      severity: "error",
      from: { path: "^packages/" },
      to: { path: "^(src|test|bench|examples|tools)/" },
    },
    {
      // What people run in production asks no judge.
      name: "judge-serves-tests",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/(testing|apps/cli|entries)/" },
      to: { path: "^packages/" },
    },
    {
      // What a model should have read is said from the source document, by code of its own.
      name: "truth-shares-nothing",
      severity: "error",
      from: { path: "^(src/testing/rehearsal/expected|test/coherence/truth)\\.ts$" },
      to: { path: "^src/", pathNot: "^src/testing/rehearsal/entries\\.ts$" },
    },
    {
      name: "pure-floors",
      severity: "error",
      from: { path: "^src/(base|domain|projections|engine/tracing/spans|analysis/(descriptions|costs/prices))/" },
      to: { dependencyTypes: ["core"] },
    },
    {
      name: "pure-floors-know-zod-only",
      severity: "error",
      from: { path: "^src/(base|domain|projections|engine/tracing/spans|analysis/(descriptions|costs/prices))/" },
      to: { dependencyTypes: ["npm"], pathNot: "node_modules/(zod|@noble/hashes)/" },
    },
    {
      name: "shipped-code-stands-alone",
      severity: "error",
      from: { path: "^src/" },
      to: { path: "^(test|bench|examples|tools)/" },
    },
    {
      // Consumers do not get development dependencies, but for what is bundled; @types/node, which they have anyway, is types only.
      name: "shipped-code-has-its-dependencies",
      severity: "error",
      from: { path: "^(src|packages)/" },
      to: {
        path: "node_modules/",
        pathNot:
          "node_modules/(@hono/node-server|@noble/hashes|cockatiel|commander|diff|eventsource-parser|hono|nanoid)/",
        dependencyTypes: ["npm-dev", "npm-no-pkg"],
        dependencyTypesNot: ["npm-peer", "type-only"],
      },
    },
    {
      name: "eventstoredb-client-in-one-file",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/stores/eventstoredb/client.ts$" },
      to: { path: "node_modules/@eventstore/" },
    },
    {
      name: "postgres-client-in-one-file",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/stores/postgres/client.ts$" },
      to: { path: "node_modules/(@types/)?pg/" },
    },
    {
      // A dialect is called through the port, and calls nothing of a run.
      name: "providers-know-the-port",
      severity: "error",
      from: { path: "^src/providers/" },
      to: { path: "^src/engine/(?!ports/)" },
    },
    {
      name: "layers-know-the-port",
      severity: "error",
      from: { path: "^src/middleware/" },
      to: { path: "^src/engine/(?!ports/)" },
    },
    {
      // Questions to a log append nothing and run nothing. Whether an open run lives is known to who owns it.
      name: "analysis-writes-nothing",
      severity: "error",
      from: { path: "^src/analysis/" },
      to: { path: "^src/(log/writer/(?!owner\\.ts$)|engine/(session|effects|compaction|inference|run)/)" },
    },
    {
      // Only a dialect reads a wire: these rooms ask a codec, whatever their floor.
      name: "wires-stay-with-providers",
      severity: "error",
      from: {
        path: "^src/(engine|log|operations|middleware|analysis/(descriptions|lists|time-travel))/|^src/replay/[^/]+$|^src/stores/open-events\\.ts$",
      },
      to: { path: "^src/providers/" },
    },
    {
      // Whatever a replay calls, there is no way from it to a connection, a process, or a store that lasts. Codecs it has, and the store in
      // memory, which is where the runs of another stack are written.
      name: "replay-touches-nothing",
      severity: "error",
      from: { path: "^src/replay/" },
      to: {
        path: "^(node:)?(net|tls|http|https|http2|dgram|dns|child_process|worker_threads|cluster|sqlite)$|^src/(providers/(http|secrets)|stores/(sqlite|eventstoredb|postgres))/|node_modules/(openai|@anthropic-ai|@eventstore|pg|ws)/",
        reachable: true,
      },
    },
    {
      // It reads events, and gets no hand on who writes them. Only the runs of another stack are written, to a store of their own.
      name: "replay-writes-nothing",
      severity: "error",
      from: { path: "^src/replay/[^/]+$", pathNot: "^src/replay/counterfactual\\.ts$" },
      to: {
        path: "^src/(conversation/|log/writer/conversation-writer|engine/run/begin|log/codec/event-log)",
        dependencyTypesNot: ["type-only"],
      },
    },
    {
      // A conversation is read through its skips and its lineage (log/history). Only what looks at envelopes reads those: audit, carry,
      // read models, and the commands that show them.
      name: "conversations-have-one-reader",
      severity: "error",
      from: { path: "^src/(engine|conversation|replay|analysis)/" },
      to: { path: "^src/log/codec/(raw-reader|recorded|data|blobs)\\.ts$" },
    },
    {
      name: "tests-start-programs-in-one-way",
      severity: "error",
      from: { path: "^test/", pathNot: "^test/support/process\\.ts$" },
      to: { path: "^(node:)?child_process$" },
    },
    {
      // The projects of vitest.config.ts go by the names of files.
      name: "unit-tests-start-no-process",
      severity: "error",
      from: {
        path: "^test/.*\\.test\\.ts$",
        pathNot: "^test/(docs|package)/|\\.(process|slow|planted|browser)\\.test\\.ts$",
      },
      to: { path: "^test/support/process\\.ts$", reachable: true },
    },
    { name: "no-unresolvable", severity: "error", from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    doNotFollow: { path: "node_modules" },
    enhancedResolveOptions: {
      conditionNames: ["node", "import", "types"],
      exportsFields: ["exports"],
      extensions: [".ts", ".js", ".mjs", ".d.ts"],
    },
  },
};
