import type { ReferenceServer } from "../../../packages/reference-server/src/server.ts";
import type { JsonObject } from "../../../src/base/json.ts";
import { anchorName } from "../../../src/domain/anchor.ts";
import { plainNames } from "../../../src/domain/block-names.ts";
import type { InferenceRequestedData } from "../../../src/domain/events/inference-events.ts";
import { type BlockId, blockIdSchema, inferenceIdSchema } from "../../../src/domain/ids.ts";
import type { Turn } from "../../../src/domain/turn.ts";
import { defaultChainPolicy } from "../../../src/engine/options/chain-policy.ts";
import { type BuiltRequest, buildRequest } from "../../../src/engine/planning/build-request.ts";
import { usedUp } from "../../../src/engine/planning/contexts.ts";
import type { ContextLookup, PlanRequest } from "../../../src/engine/planning/plan-request.ts";
import { settingsName } from "../../../src/engine/planning/request-settings.ts";
import { decodeResponse } from "../../../src/engine/planning/response.ts";
import { entersTurn } from "../../../src/projections/client-turn/apply-to-turns.ts";
import { serverContextOf } from "../../../src/projections/server-contexts/exchange-context.ts";
import { type ServerContext, serverContexts } from "../../../src/projections/server-contexts/server-contexts.ts";
import { responsesCodec } from "../../../src/providers/responses/responses-codec.ts";
import { defaultCapabilities } from "../../../src/providers/settings/capabilities.ts";
import { send as post } from "../reference-server/wire-client.ts";

/** What one request may be told besides its Turn. */
export type RequestOptions = Partial<Pick<PlanRequest, "full" | "candidates" | "capabilities" | "policy">> & {
  readonly settings?: JsonObject;
};

/** A request as it was planned and encoded, not yet sent. */
export type Planned = BuiltRequest & { readonly request: PlanRequest };

/** A request that was sent, and what came of it. */
export type Exchanged = Planned & {
  readonly status: number;
  readonly answer: JsonObject;
  /** The Turn with the answer; the outgoing one where the server refused. */
  readonly turn: Turn;
  /** What the server holds now; null where it refused. */
  readonly context: ServerContext | null;
};

/** The scope of every exchange. */
export const scope = "test endpoint";

/** Plans, encodes and sends Turns to a reference server, and keeps what its answers say: an engine without a log. */
export function createExchange(server: ReferenceServer) {
  const view = serverContexts.initial("conversation-cnv_test");
  const newest: { value: { readonly context: ServerContext; readonly turn: Turn } | null } = { value: null };
  let count = 0;
  const contexts: ContextLookup = {
    hasErasedSettings: () => false,
    byTurn: (digest) => view.contexts.byTurn(digest),
    ofTurn: (digest) => view.contexts.ofTurn(digest),
    ofInference: (id) => view.contexts.ofInference(id),
    object: (wanted) => view.objects.get(wanted) ?? null,
    isCut: (object) => view.cutObjects.has(anchorName(object)),
    usedUp: (context) => usedUp(view, context),
    newest: (wanted) => (wanted === scope ? newest.value : null),
    latest: (wanted) => (wanted === scope ? (newest.value?.context ?? null) : null),
    invalidation: (context) => view.invalidResponses.get(anchorName(context)) ?? null,
    settings: (digest) => view.settings.get(digest) ?? {},
    quarantined: view.quarantined,
  };

  function planned(turn: Turn, options: RequestOptions = {}): Planned {
    const { settings = defaultSettings, capabilities = defaultCapabilities, ...rest } = options;
    const digest = settingsName(settings, plainNames);
    view.settings.set(digest, settings);
    const request: PlanRequest = {
      turn,
      contexts,
      provenance: { authorOf: () => null, removerOf: () => null },
      scope,
      codec: responsesCodec,
      transport: "json",
      capabilities,
      settings,
      settingsDigest: digest,
      policy: defaultChainPolicy,
      now,
      ...rest,
    };
    return { request, ...buildRequest(request) };
  }

  async function send(turn: Turn, options: RequestOptions = {}): Promise<Exchanged> {
    const made = planned(turn, options);
    const { status, body: answer } = await post(server, "/responses", { method: "POST", body: made.bodyText });
    if (status !== 200) return { ...made, status, answer, turn, context: null };
    const request = requestedData(made, count);
    count += 1;
    const { settings } = made.request;
    const { data, blocks } = decodeResponse(answer, {
      request,
      settings,
      provider: { scope, codec: responsesCodec },
      newBlockId: () => freshBlockId(),
      names: plainNames,
    });
    const context = serverContextOf({
      request,
      response: data,
      stream: "",
      revision: count,
      index: count,
      at: now,
    });
    view.contexts.add(context);
    const after = turn.append(...blocks.filter(entersTurn));
    newest.value = { context, turn: after };
    return { ...made, status, answer, turn: after, context };
  }

  return { view, contexts, planned, send };
}

/** The settings of requests that say none. */
const defaultSettings: JsonObject = { model: "m", include: ["reasoning.encrypted_content"] };

/** When everything happens. */
export const now = "2026-01-01T00:00:00.000Z";

let made = 0;

/** An id that no other block of this process has. */
export function freshBlockId(): BlockId {
  made += 1;
  return blockIdSchema.parse(`blk_${String(made).padStart(20, "0")}`);
}

function requestedData({ request, decision, input, digest, bytes }: Planned, n: number): InferenceRequestedData {
  return {
    inferenceId: inferenceIdSchema.parse(`inf_${String(n).padStart(20, "0")}`),
    attempt: 0,
    scope,
    encoder: responsesCodec.name,
    settingsDigest: request.settingsDigest,
    decision,
    input,
    requestDigest: digest,
    requestBytes: bytes,
  };
}
