import type { PlantedFault } from "./planted-fault.ts";

/** The spans of runs: of live tracing, and of an export. */
export const tracingFaults: readonly PlantedFault[] = [
  {
    of: "the last events of a run that is parked are not traced",
    file: "src/engine/session/recorder.ts",
    find: 'if (result.status !== "rejected") this.#options.onAppended(result.events);',
    put: "void result;",
    suite: "engine/tracing/law",
  },
  {
    of: "a resumed run begins its spans without its past",
    file: "src/engine/run/take-up.ts",
    find: "spans?.take(recorded, nothingKnown);",
    put: "",
    suite: "engine/tracing/law",
  },
  {
    of: "a call that is repeated after a crash has no span of its own",
    file: "src/engine/tracing/run-tracing.ts",
    find: "if (!this.#open.has(key)) this.#apply(",
    put: "if (key.length === 0) this.#apply(",
    suite: "engine/tracing/live",
  },
  {
    of: "a span is lost when the process leaves its run without a record",
    file: "src/engine/run/run.ts",
    find: "if (!session.run.recorder.isParked) session.run.tracing?.close();",
    put: "",
    suite: "engine/tracing/live",
  },
  {
    of: "two attempts of one part have one id",
    file: "src/operations/transfer/otlp.ts",
    find: 'digest("span", ',
    put: 'digest("span", part.length > 0 ? key : ',
    suite: "engine/tracing/law",
  },
  {
    of: "a tool runs again when the context manager throws",
    file: "src/engine/tracing/run-tracing.ts",
    find: "if (done !== null) return outcomeOf(done);",
    put: "",
    suite: "engine/tracing/throwing",
  },
  {
    of: "the text of an error is told without content",
    file: "src/engine/tracing/spans/run-spans.ts",
    find: "const errorMessage = this.#options.hasContent ? data.message : null;",
    put: "const errorMessage = data.message;",
    suite: "engine/tracing/live",
  },
  {
    of: "cached tokens are counted twice for Langfuse",
    file: "src/engine/tracing/spans/answer-attributes.ts",
    find: "input: Math.max(0, input - cacheRead - cacheWritten),",
    put: "input,",
    suite: "engine/tracing/services",
  },
  {
    of: "a replay is traced",
    file: "src/replay/re-execute.ts",
    find: "    tracing: null,\n",
    put: "",
    suite: "engine/tracing/live",
  },
  {
    of: "an export with content is not recorded",
    file: "src/operations/transfer/export-spans.ts",
    find: "  if (!content) return;\n",
    put: "  if (content) return;\n",
    suite: "engine/tracing/export",
  },
];
