import type { JsonObject } from "../../base/json.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { utf8Length } from "../../base/utf8.ts";
import { idOf } from "../../domain/block.ts";
import type { InferenceRequestedData } from "../../domain/events/inference-events.ts";
import { inferenceIdSchema } from "../../domain/ids.ts";
import type { Turn } from "../../domain/turn.ts";
import { entersTurn } from "../../projections/client-turn.ts";
import { isSuspect, serverContextOf } from "../../projections/server-contexts.ts";
import { ChainRequiredError, plan } from "../planner/plan.ts";
import { heldContext, inputItems, type ShapedBlock, shapedBlocks } from "../planner/shaped-input.ts";
import { type InferenceResponse, ProviderError } from "../provider.ts";
import { contextLookup, effectiveCapabilities, provenanceOf } from "./contexts.ts";
import { NothingToSendError } from "./errors.ts";
import type { CallScope } from "./frames.ts";
import { type Retry, reactTo } from "./reactions.ts";
import { decodeResponse } from "./response.ts";
import { engineActor, newBlockId, type RunSession, record, takePasses } from "./session.ts";
import { requestSettings, settingsDigest } from "./settings.ts";

/** One request as it was decided, encoded and recorded. */
type Prepared = {
  readonly request: InferenceRequestedData;
  readonly settings: JsonObject;
  readonly bodyText: string;
  readonly shaped: readonly ShapedBlock[];
};

/**
 * One step: plans, records and sends the request, and records what came back. A refusal that the log can mend is answered
 * by one more attempt of its kind; every attempt is an event before it is a call.
 *
 * @throws {ProviderError} when the provider refused or failed for good.
 * @throws {ChainRequiredError} when the policy requires a chained request and none is possible.
 */
export async function inferStep(session: RunSession, frame: string, outgoing: Turn, scope: CallScope): Promise<Turn> {
  const reactions = new Map<string, number>();
  let retry: Retry = {};
  for (let attempt = 0; ; attempt += 1) {
    const prepared = prepare(session, frame, { outgoing, scope, attempt, retry });
    await session.recorder.flush();
    scope.signal.throwIfAborted();
    session.emit({
      type: "request-start",
      frame,
      attempt,
      decision: prepared.request.decision,
      requestBytes: prepared.request.requestBytes,
    });
    const answer = await send(session, frame, prepared, scope);
    if (answer instanceof ProviderError) {
      const error = answer;
      recordFailure(session, frame, prepared.request, error);
      const reaction = reactTo(session, { error, request: prepared.request, shaped: prepared.shaped, reactions });
      session.emit({ type: "attempt-discarded", frame, attempt, reason: error.kind });
      if (reaction === null) throw error;
      // What an earlier refusal said still holds: a server that lost one response may have lost them all.
      retry = { ...retry, ...reaction };
      continue;
    }
    return receive(session, frame, prepared, answer);
  }
}

type Attempt = {
  readonly outgoing: Turn;
  readonly scope: CallScope;
  readonly attempt: number;
  readonly retry: Retry;
};

function prepare(session: RunSession, frame: string, { outgoing, scope, attempt, retry }: Attempt): Prepared {
  const { engine } = session;
  const { provider } = engine;
  const { codec, transport } = provider;
  const capabilities = effectiveCapabilities(session);
  const settings = requestSettings(engine, capabilities, scope.instructions);
  const digest = settingsDigest(settings);
  const contexts = contextLookup(session);
  const decision = plan({
    turn: outgoing,
    contexts,
    provenance: provenanceOf(session),
    scope: provider.scope,
    codec,
    capabilities,
    settings,
    settingsDigest: digest,
    policy: engine.chain,
    now: new Date(engine.clock()).toISOString(),
    ...retry,
  });
  const isMissingChain = decision.strategy === "full" && decision.reason !== "first-request";
  if (engine.chain.mode === "require" && isMissingChain) throw new ChainRequiredError(decision);
  const shaped = shapedBlocks(outgoing, decision.sendFrom, decision.repairs, {
    ...capabilities,
    scope: provider.scope,
  });
  if (shaped.length === 0 && decision.anchor === null) throw new NothingToSendError(outgoing.length);
  const bodyText = codec.encodeRequest({
    settings,
    input: inputItems(shaped, codec),
    previousResponseId: decision.anchor?.responseId ?? null,
    stream: transport === "sse",
  });
  const anchor = decision.anchor === null ? null : contexts.byResponse(decision.anchor.responseId);
  const request: InferenceRequestedData = {
    inferenceId: inferenceIdSchema.parse(engine.newId("inf")),
    attempt,
    scope: provider.scope,
    transport,
    encoder: codec.name,
    settingsDigest: digest,
    decision,
    input: {
      turn: outgoing.digest,
      held: heldContext(anchor?.held ?? null, shaped),
      blocks: outgoing.length,
    },
    requestDigest: sha256Hex(bodyText),
    requestBytes: utf8Length(bodyText),
    ...takePasses(session),
  };
  const declarer = scope.instructions.at(-1)?.actor ?? engineActor;
  record(session, { type: "DeclareSettings", data: { digest, settings } }, declarer, frame);
  record(session, { type: "RequestInference", runId: session.runId, data: request }, engineActor, frame);
  session.turns.request(frame);
  return { request, settings, bodyText, shaped };
}

async function send(
  session: RunSession,
  frame: string,
  { bodyText }: Prepared,
  { signal }: CallScope,
): Promise<InferenceResponse | ProviderError> {
  const { provider } = session.engine;
  try {
    return await provider.infer({
      bodyText,
      transport: provider.transport,
      signal,
      onDelta: (delta) => {
        if (delta.type !== "item-done") session.emit({ ...delta, frame });
      },
    });
  } catch (error) {
    if (error instanceof ProviderError) return error;
    throw error;
  }
}

function receive(
  session: RunSession,
  frame: string,
  { request, settings }: Prepared,
  { response }: InferenceResponse,
): Turn {
  const { provider, clock } = session.engine;
  const received = decodeResponse(response, {
    request,
    settings,
    provider,
    newBlockId: () => newBlockId(session, frame),
  });
  const { data, blocks } = received;
  const actor = { kind: "provider", name: provider.name, inferenceId: request.inferenceId } as const;
  record(session, { type: "ReceiveResponse", runId: session.runId, data }, actor, frame);
  session.clock = clock();
  const entered = blocks.filter(entersTurn);
  const result = session.turns.respond(frame, entered, actor);
  for (const block of entered) if (block.kind === "tool_call") session.calls.set(idOf(block), block);
  const revision = Number.MAX_SAFE_INTEGER;
  const at = new Date(session.clock).toISOString();
  const context = serverContextOf({ request, response: data, settings, revision, at });
  session.contexts.push({ context, turn: result });
  session.responses.push({ request, response: data, blocks: entered });
  if (isSuspect(request, data)) distrust(session, frame);
  for (const block of entered) session.emit({ type: "block", frame, block });
  if (data.status === "failed" || data.status === "cancelled") throw failedResponse(response);
  return result;
}

/** The server answered without the context: it is not chained again (law 1). */
function distrust(session: RunSession, frame: string): void {
  const { scope } = session.engine.provider;
  const data = { scope, capability: "chain", value: false, reason: "the echoed previous_response_id differs" } as const;
  session.learned.set("chain", false);
  record(session, { type: "LearnCapability", data }, engineActor, frame);
}

function recordFailure(
  session: RunSession,
  frame: string,
  request: InferenceRequestedData,
  error: ProviderError,
): void {
  const data = {
    inferenceId: request.inferenceId,
    kind: error.kind,
    outcome: error.outcome,
    message: error.message,
    status: error.status,
    code: error.providerCode,
    param: error.param,
    ...(error.body === null ? {} : { body: error.body }),
    partial: [...error.partial],
  };
  const actor = { kind: "provider", name: session.engine.provider.name, inferenceId: request.inferenceId } as const;
  record(session, { type: "FailInference", runId: session.runId, data }, actor, frame);
}

/** The response came, and says that it failed: it is recorded as a response already. */
function failedResponse(response: JsonObject): ProviderError {
  const { error } = response;
  const { message, code } =
    typeof error === "object" && error !== null && "message" in error ? error : { message: null, code: null };
  return new ProviderError(typeof message === "string" ? message : "the provider could not complete the response", {
    kind: "server-error",
    outcome: "unknown",
    providerCode: typeof code === "string" ? code : null,
  });
}
