import type { JsonObject } from "../../base/json.ts";
import type { InferenceRequestedData } from "../../domain/events/inference-events.ts";
import type { ProposedEvent, RecordedEvent } from "../../domain/events/recorded.ts";
import type { LayerDescription } from "../../domain/events/run-events.ts";
import { isAside } from "../../domain/frame.ts";

/** A text that a layer added to the instructions of a request. */
export type AddedInstructions = { readonly layer: string; readonly version: string; readonly text: string };

/** A request of a traced run. */
export type TracedRequest = {
  /** The recorded request whose result it got, by its inference id; else its own place. Two runs are paired by it. */
  readonly key: string;
  readonly inferenceId: string;
  /** Only for recorded requests. */
  readonly revision: number | null;
  readonly frame: string;
  readonly attempt: number;
  /** The digest of the Turn that the model is meant to read. */
  readonly context: string;
  readonly settingsDigest: string;
  readonly instructions: readonly AddedInstructions[];
  readonly encoder: string;
  readonly requestDigest: string;
  readonly bytes: number;
  readonly data: InferenceRequestedData;
};

/** How a run ended, as far as another execution has to end the same way. */
type TracedEnd = {
  readonly type: string;
  readonly after: string;
  /** Of a failure; null if it did not fail. */
  readonly kind: string | null;
  readonly thrownBy: { readonly layer: string; readonly frame: string } | null;
};

/** What every frame of a run handed on, by digests, and what was sent: two traces of one run show where they part. */
export type RunTrace = {
  readonly runId: string;
  readonly layers: readonly LayerDescription[];
  /** The digest of the Turn that the run started from. */
  readonly base: string;
  readonly policies: JsonObject;
  /** The Turns that layers handed on, by `given/<frame>` and `result/<frame>`. */
  readonly turns: ReadonlyMap<string, string>;
  /** The Turns that the engine shortened, under the same names. */
  readonly compacted: ReadonlyMap<string, string>;
  /** How many calls each frame made. */
  readonly calls: ReadonlyMap<string, number>;
  readonly requests: readonly TracedRequest[];
  /** The inference ids of requests whose answer was lost because their process ended. */
  readonly lost: ReadonlySet<string>;
  readonly settings: ReadonlyMap<string, JsonObject>;
  /** The layer that declared settings first, by their digest. */
  readonly declarers: ReadonlyMap<string, string>;
  readonly end: TracedEnd | null;
  /** The layers that do nothing in this run, because the stack does not have them. */
  readonly leftOut: ReadonlySet<string>;
};

/** An event of a recorded run, or one that a run is about to record. */
type TracedEvent = Pick<ProposedEvent, "actor"> & {
  readonly event: RecordedEvent["event"];
  readonly frame?: string | null | undefined;
  readonly revision?: number;
};

type Keys = (request: InferenceRequestedData, frame: string) => string;

/** Builds the trace of a run from its events. */
export class TraceBuilder {
  readonly #trace;
  readonly #keyOf: Keys;

  constructor(runId: string, keyOf: Keys = ({ inferenceId }) => inferenceId) {
    this.#keyOf = keyOf;
    this.#trace = {
      ...{ runId, base: "", layers: [] as readonly LayerDescription[], policies: {} as JsonObject },
      ...{ turns: new Map<string, string>(), compacted: new Map<string, string>(), calls: new Map<string, number>() },
      ...{ requests: [] as TracedRequest[], lost: new Set<string>(), settings: new Map<string, JsonObject>() },
      ...{ declarers: new Map<string, string>(), end: null as TracedEnd | null },
      leftOut: new Set<string>(),
    };
  }

  get trace(): RunTrace {
    return this.#trace;
  }

  take({ event, actor, frame = null, revision }: TracedEvent, instructions: readonly AddedInstructions[] = []): void {
    const trace = this.#trace;
    const at = frame ?? "0";
    if (!isAside(at)) countCalls(trace.calls, at);
    switch (event.type) {
      case "RunStarted": {
        const { stack, base, chain, budget, compact } = event.data;
        const { keepReasoningMs, chosen: _, ...chained } = chain;
        trace.layers = stack;
        trace.base = base;
        trace.policies = {
          ...chained,
          ...(keepReasoningMs === undefined ? {} : { reasoning: keepReasoningMs }),
          ...(compact === undefined ? {} : { compact }),
          ...(budget === undefined ? {} : { budget }),
        };
        return;
      }
      case "SettingsDeclared": {
        const { digest, settings, base } = event.data;
        if (base === undefined) trace.settings.set(digest, settings);
        if (actor.kind === "middleware" && !trace.declarers.has(digest)) trace.declarers.set(digest, actor.name);
        return;
      }
      case "TurnEdited": {
        const { direction, after, compaction } = event.data;
        const name = `${direction === "request" ? "given" : "result"}/${at}`;
        (compaction === undefined ? trace.turns : trace.compacted).set(name, after);
        return;
      }
      case "InferenceRequested":
        trace.requests.push(
          requestOf(event.data, { frame: at, revision, instructions, key: this.#keyOf(event.data, at) }),
        );
        return;
      case "InferenceFailed":
        if (lostByCrash.has(event.data.kind)) trace.lost.add(event.data.inferenceId);
        return;
      case "RunCompleted":
      case "RunCancelled":
        trace.end = { type: event.type, after: event.data.after, kind: null, thrownBy: null };
        return;
      case "RunFailed": {
        const { after, kind, thrownBy = null } = event.data;
        trace.end = { type: event.type, after, kind, thrownBy };
        return;
      }
      default:
    }
  }
}

/** Failures that only a process that took over a run has recorded. */
const lostByCrash: ReadonlySet<string> = new Set(["interrupted", "lost-response"]);

type RequestPlace = Pick<TracedRequest, "frame" | "key" | "instructions"> & { readonly revision: number | undefined };

function requestOf(data: InferenceRequestedData, { revision = -1, ...place }: RequestPlace): TracedRequest {
  const { inferenceId, attempt, input, settingsDigest, encoder, requestDigest, requestBytes: bytes } = data;
  return {
    ...place,
    ...{ inferenceId, attempt, settingsDigest, encoder, requestDigest, bytes, data },
    revision: revision < 0 ? null : revision,
    context: input.outgoing ?? input.turn,
  };
}

/** A frame proves the calls of all frames around it. */
function countCalls(calls: Map<string, number>, frame: string): void {
  for (let at = frame; at.includes("."); ) {
    const cut = at.lastIndexOf(".");
    const [parent, number] = [at.slice(0, cut), Number(at.slice(cut + 1))];
    if ((calls.get(parent) ?? 0) <= number) calls.set(parent, number + 1);
    at = parent;
  }
}
