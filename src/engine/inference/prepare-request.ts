import type { JsonObject } from "../../base/json.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { utf8Length } from "../../base/utf8.ts";
import type { InferenceRequestedData } from "../../domain/events/inference-events.ts";
import { inferenceIdSchema } from "../../domain/ids.ts";
import type { Turn } from "../../domain/turn.ts";
import { contextLookup, effectiveCapabilities, provenanceOf } from "../planning/contexts.ts";
import { splitTurn, withoutFirst } from "../planning/instruction-blocks.ts";
import { ChainRequiredError, plan } from "../planning/plan.ts";
import { requestSettings, settingsDigest } from "../planning/request-settings.ts";
import { encodeBody, heldContext, type ShapedBlock, shapedBlocks } from "../planning/shaped-input.ts";
import type { CallScope } from "../session/call-scope.ts";
import { NothingToSendError } from "../session/errors.ts";
import { engineActor, type RunSession, record, takeTimings } from "../session/session.ts";
import { checkSettings } from "../stack/settings-size.ts";
import type { Retry } from "./reactions.ts";

/** One request as it was decided, encoded and recorded. */
export type Prepared = {
  readonly request: InferenceRequestedData;
  readonly settings: JsonObject;
  readonly bodyText: string;
  readonly shaped: readonly ShapedBlock[];
};

type Attempt = {
  readonly outgoing: Turn;
  readonly scope: CallScope;
  readonly attempt: number;
  readonly retry: Retry;
};

/**
 * Plans, shapes and encodes a request, and records it.
 *
 * @throws {ChainRequiredError} when the policy requires a chained request and none is possible.
 */
export function prepare(session: RunSession, frame: string, { outgoing, scope, attempt, retry }: Attempt): Prepared {
  const { engine } = session;
  const { provider } = engine;
  const { codec, transport } = provider;
  const { without = [], ...planned } = retry;
  const lacking = Object.fromEntries(without.map(({ capability }) => [capability, false]));
  const capabilities = { ...effectiveCapabilities(session), ...lacking };
  const { input, instructions } = splitTurn(session.view(), outgoing, provider);
  const settings = requestSettings(engine, capabilities, [
    ...instructions,
    ...scope.instructions.map(({ text }) => text),
  ]);
  // The engine's own were looked at when it was made.
  if (instructions.length + scope.instructions.length > 0) checkSettings(settings);
  const digest = settingsDigest(settings);
  const contexts = contextLookup(session);
  const decision = plan({
    turn: input,
    contexts,
    provenance: provenanceOf(session.turns, session.view()),
    scope: provider.scope,
    codec,
    capabilities,
    settings,
    settingsDigest: digest,
    policy: engine.chain,
    now: new Date(engine.clock()).toISOString(),
    ...planned,
  });
  const isMissingChain = decision.strategy === "full" && decision.reason !== "first-request";
  if (engine.chain.mode === "require" && isMissingChain) throw new ChainRequiredError(decision);
  const { bodyText, shaped } = encodeBody({ turn: input, settings, codec, request: provider }, decision);
  if (shaped.length === 0 && decision.anchor === null) throw new NothingToSendError(outgoing.length);
  const { anchor: named } = decision;
  const anchor = named === null ? null : contexts.byResponse({ scope: provider.scope, responseId: named.responseId });
  const request: InferenceRequestedData = {
    inferenceId: inferenceIdSchema.parse(engine.newId("inf")),
    attempt,
    scope: provider.scope,
    transport,
    encoder: codec.name,
    settingsDigest: digest,
    decision,
    input: {
      turn: input.digest,
      held: heldContext(anchor?.held ?? null, shaped),
      blocks: input.length,
      ...(input === outgoing ? {} : { outgoing: outgoing.digest }),
    },
    requestDigest: sha256Hex(bodyText),
    requestBytes: utf8Length(bodyText),
    ...takeTimings(session),
  };
  const declarer = scope.instructions.at(-1)?.actor ?? engineActor;
  record(session, { type: "SettingsDeclared", version: 1, data: { digest, settings } }, declarer, frame);
  record(session, { type: "InferenceRequested", version: 1, data: request }, engineActor, frame);
  session.turns.request(frame);
  return { request, settings, bodyText, shaped };
}

type RefusedRequest = { readonly outgoing: Turn; readonly request: InferenceRequestedData };

/** A request that the log has: it was planned then, and is not planned again. */
export function preparedBefore(session: RunSession, frame: string, { outgoing, request }: RefusedRequest): Prepared {
  const { decision, settingsDigest: digest } = request;
  session.turns.request(frame);
  // What layers did before it was recorded with it.
  takeTimings(session);
  const input = withoutFirst(session.view(), outgoing, outgoing.length - request.input.blocks);
  const limits = { ...decision.capabilities, scope: request.scope };
  return {
    request,
    settings: session.view().server.settings.get(digest) ?? {},
    bodyText: "",
    shaped: shapedBlocks(input, decision.sendFrom, decision.repairs, limits),
  };
}
