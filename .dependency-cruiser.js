const floorFive = ["stores", "providers", "middleware", "reference-server", "rehearsal"];
const floors = [["base"], ["domain"], ["projections"], ["engine"], floorFive, ["cli"]];

const importsDownOnly = floors.slice(0, -1).map((names, index) => ({
  name: `${names[0]}-imports-down-only`,
  severity: "error",
  from: { path: `^src/(${names.join("|")})/` },
  to: {
    path: `^src/(${floors
      .slice(index + 1)
      .flat()
      .join("|")})/|^src/[^/]+\\.ts$`,
  },
}));

/** @type {import("dependency-cruiser").IConfiguration} */
export default {
  forbidden: [
    ...importsDownOnly,
    { name: "no-cycles", severity: "error", from: {}, to: { circular: true } },
    {
      name: "floor-5-siblings",
      severity: "error",
      from: { path: `^src/(${floorFive.join("|")})/` },
      to: { path: `^src/(${floorFive.join("|")})/`, pathNot: "^src/$1/" },
    },
    {
      name: "judge-shares-nothing",
      severity: "error",
      from: { path: "^src/reference-server/" },
      to: { path: "^src/(?!reference-server/)" },
    },
    {
      // What a model should have read is said from the source document, by code of its own.
      name: "truth-shares-nothing",
      severity: "error",
      from: { path: "^(src/rehearsal/expected|test/coherence/truth)\\.ts$" },
      to: { path: "^src/", pathNot: "^src/(rehearsal/entries\\.ts|reference-server/)" },
    },
    {
      name: "pure-floors",
      severity: "error",
      from: { path: "^src/(base|domain|projections)/" },
      to: { dependencyTypes: ["core"] },
    },
    {
      name: "pure-floors-know-zod-only",
      severity: "error",
      from: { path: "^src/(base|domain|projections)/" },
      to: { dependencyTypes: ["npm"], pathNot: "node_modules/(zod|@noble/hashes)/" },
    },
    {
      name: "shipped-code-stands-alone",
      severity: "error",
      from: { path: "^src/" },
      to: { path: "^(test|bench|examples|tools)/" },
    },
    {
      // Consumers do not get development dependencies; @types/node, which they have anyway, is types only.
      name: "shipped-code-has-its-dependencies",
      severity: "error",
      from: { path: "^src/" },
      to: { dependencyTypes: ["npm-dev", "npm-no-pkg"], dependencyTypesNot: ["npm-peer", "type-only"] },
    },
    {
      name: "eventstoredb-client-in-one-folder",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/stores/eventstoredb/" },
      to: { path: "node_modules/@eventstore/" },
    },
    {
      // Law 8: whatever a replay calls, there is no way from it to a connection, a process, a provider or a store.
      name: "replay-touches-nothing",
      severity: "error",
      from: { path: "^src/engine/replay/" },
      to: {
        path: "^(node:)?(net|tls|http|https|http2|dgram|dns|child_process|worker_threads|cluster|sqlite)$|^src/(providers|stores)/|node_modules/(openai|@eventstore)/",
        reachable: true,
      },
    },
    {
      // It reads events, and gets no hand on who writes them.
      name: "replay-writes-nothing",
      severity: "error",
      from: { path: "^src/engine/replay/" },
      to: {
        path: "^src/engine/(conversation|conversation-stream|turnlog-store|run/begin|codec/event-log)\\.ts$",
        dependencyTypesNot: ["type-only"],
      },
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
