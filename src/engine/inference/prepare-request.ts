import type { JsonObject } from "../../base/json.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import type { Block } from "../../domain/block.ts";
import type { CacheLoss, Decision, InferenceRequestedData } from "../../domain/events/inference-events.ts";
import { inferenceIdSchema } from "../../domain/ids.ts";
import type { Turn } from "../../domain/turn.ts";
import { keepBudget } from "../options/budget.ts";
import type { EngineOptions } from "../options/engine.ts";
import { type BuiltRequest, buildRequest, shapedBlocks } from "../planning/build-request.ts";
import { countedIn, learnedCapabilities } from "../planning/contexts.ts";
import { withoutFirst } from "../planning/instruction-blocks.ts";
import { toldLate } from "../planning/late-result.ts";
import { type Carrier, unsendableParts } from "../planning/parts.ts";
import type { PlanRequest } from "../planning/plan-request.ts";
import type { Codec, SentBlock } from "../ports/codec.ts";
import type { Provider } from "../ports/provider.ts";
import { cacheLoss, isUnknownLoss } from "../recorded/cache-loss.ts";
import { engineActor, type LiveRun, type RunSession, record, takeTimings } from "../session/session.ts";
import type { Retry } from "./reactions.ts";
import { latestAnswer, type StepRequest, stepRequest } from "./step-request.ts";
import { warnOfWholeTurns } from "./whole-turns.ts";

/** One request as it was decided, encoded and recorded. */
export type Prepared = {
  readonly request: InferenceRequestedData;
  readonly settings: JsonObject;
  readonly bodyText: string;
  readonly bodyWith: BuiltRequest["bodyWith"];
  readonly shaped: readonly SentBlock[];
};

type Attempt = { readonly attempt: number; readonly retry: Retry };

/**
 * Plans, shapes and encodes a request, and records it.
 *
 * @throws {BudgetExceededError} if the run's budget is used up.
 * @throws {TurnlogError} `chain-required` if the policy requires a chained request and none is possible; `part-unsendable` if a part cannot
 * be sent and must not be left out.
 */
export function prepare(
  session: RunSession,
  step: StepRequest & { readonly frame: string },
  { attempt, retry }: Attempt,
): Prepared {
  const { frame, outgoing, scope, aside } = step;
  const { run, engine } = session;
  const { codec, scope: endpoint } = engine.provider;
  const asked = askedFor(session, step, retry);
  const { turn: input, settings, settingsDigest: digest } = asked;
  const counted = (): number => countedIn(input, asked.contexts, endpoint)?.tokens ?? 0;
  const used = { counted, total: run.fold.spentTokens };
  keepBudget(engine.budget, used, (told) => run.emit({ type: "budget-exceeded", frame, ...told }));
  const built = buildRequest(asked);
  const { shaped, bodyText, bodyWith } = built;
  const decision = withCacheLoss(session, built.decision, { asked, outgoing, frame });
  const isMissingChain = decision.strategy === "full" && !startsAnew.has(decision.reason);
  if (engine.chain.require === true && isMissingChain && aside === undefined)
    throw new TurnlogError(
      "chain-required",
      `the request cannot be chained (${decision.reason ?? "no reason"}), but chain.require requires a chain`,
    );
  if (engine.onUnsendablePart === "throw") mustCarryParts(input, decision, engine.provider);
  if (shaped.length === 0 && (decision.anchor?.length ?? 0) === 0)
    throw nothingToSend(outgoing, { codec, scope: endpoint, capabilities: decision.capabilities });
  warnOfAge(session, frame, { ...asked, shaped });
  const request: InferenceRequestedData = {
    inferenceId: inferenceIdSchema.parse(engine.newId("inf")),
    attempt,
    scope: endpoint,
    encoder: codec.name,
    settingsDigest: digest,
    decision,
    input: { ...built.input, ...(input === outgoing ? {} : { outgoing: outgoing.digest }) },
    requestDigest: built.digest,
    requestBytes: built.bytes,
    ...(session.route === null ? {} : { route: session.route }),
    ...takeTimings(run),
  };
  const declarer = aside?.actor ?? scope.instructions.at(-1)?.actor ?? engineActor;
  record(run, { type: "SettingsDeclared", version: 2, data: { digest, settings } }, declarer, frame);
  record(run, { type: "InferenceRequested", version: 1, data: request }, engineActor, frame);
  run.tracing?.noteSettings(digest, settings);
  warnOfWholeTurns(session, decision);
  tellLostCache(session, frame, { decision, asked });
  return { request, settings, bodyText, bodyWith, shaped };
}

type Losing = {
  readonly asked: PlanRequest;
  readonly outgoing: Turn;
  readonly frame: string;
};

/** The decision with what it gives up of an earlier prompt. What a process that began with a snapshot does not know is left out. */
function withCacheLoss({ run }: RunSession, decision: Decision, { asked, outgoing, frame }: Losing): Decision {
  const latest = decision.reason === "aside" ? null : latestAnswer(run, asked.scope);
  if (latest === "unknown") return decision;
  if (latest === null) return { ...decision, cache: null };
  const { turns, view } = run.fold;
  const now = { passes: turns.passes, frame };
  const loss = cacheLoss({ ...asked, outgoing, latest, now, blame: view.client.blame, repairs: decision.repairs });
  return { ...decision, cache: loss };
}

/** Names the reason why the newest block cannot be sent, because its author can fix that. */
function nothingToSend(turn: Turn, to: Carrier & { readonly codec: Codec }): TurnlogError<"nothing-to-send"> {
  const last = turn.at(turn.length - 1);
  const reason =
    last === undefined
      ? null
      : (to.codec.unsendableReason(last, { withId: false }) ?? unsendableParts([last], 0, to)[0]?.reason ?? null);
  const why = reason === null ? "" : ` (of the last one: ${reason})`;
  const text = `none of the Turn's ${turn.length} blocks can be sent to this endpoint${why}; append a message that it accepts`;
  return new TurnlogError("nothing-to-send", text);
}

/** @throws {TurnlogError} `part-unsendable` if a part would be left out, or a block that holds nothing else. */
function mustCarryParts(
  input: Turn,
  { repairs, sendFrom, capabilities }: Decision,
  { name, codec, scope }: Provider,
): void {
  const sent = input.after(sendFrom);
  const byIndex = Map.groupBy(repairs, ({ index }) => index);
  for (const { rule, index, detail } of repairs) {
    const isOmission = rule === "omit" || rule === "omit-parts";
    const block = isOmission && detail["reason"] === "unsendable" ? input.at(index) : undefined;
    if (block === undefined) continue;
    const said = toldLate(block, byIndex.get(index) ?? [], input);
    const [part] = unsendableParts(sent.with(index - sendFrom, said), index - sendFrom, { codec, scope, capabilities });
    const what =
      part === undefined ? keptWhole(said, codec) : { ...part, what: `part ${part.place} (${part.type}) of ` };
    if (what === null) continue;
    throw new TurnlogError(
      "part-unsendable",
      `${what.what}block ${block.id ?? index} cannot be sent to the provider ${name}: ${what.reason}; remove it, ask another provider, or omit it with onUnsendablePart: "omit"`,
    );
  }
}

/** Why a codec that sends a block whole or not at all leaves out a message with parts other than text; null for other blocks. */
function keptWhole(block: Block, codec: Codec) {
  const isShowing = codec.unsendablePart === undefined && block.parts.some(({ type }) => type !== "text");
  const reason = isShowing ? codec.unsendableReason(block, { withId: false }) : null;
  return reason === null ? null : { what: "", reason };
}

/** Reasons for a full Turn if there was nothing to continue from. */
const startsAnew: ReadonlySet<string | null> = new Set(["first-request", "new-conversation"]);

/** A request to be planned, with what earlier refusals of its step revealed. */
export function askedFor(session: RunSession, step: StepRequest, { without = [], ...planned }: Retry): PlanRequest {
  const { provider, learned } = session.engine;
  const lacking = Object.fromEntries(without.map(({ capability }) => [capability, false]));
  const capabilities = { ...learnedCapabilities(provider, session.run.fold.view, learned), ...lacking };
  return { ...stepRequest(session, step, capabilities), ...planned };
}

type RefusedRequest = { readonly outgoing: Turn; readonly request: InferenceRequestedData };

/** A request that the log has: it is not planned again. */
export function preparedBefore(session: RunSession, frame: string, { outgoing, request }: RefusedRequest): Prepared {
  const { decision, settingsDigest: digest } = request;
  const { run, engine } = session;
  const { fold } = run;
  // The timings of the layers so far were recorded with the request.
  takeTimings(run);
  const settings = fold.view.server.settings.get(digest) ?? {};
  run.tracing?.noteSettings(digest, settings);
  fold.apply({ event: { type: "SettingsDeclared", version: 2, data: { digest, settings } }, actor: engineActor });
  fold.apply({ event: { type: "InferenceRequested", version: 1, data: request }, actor: engineActor, frame });
  const input = withoutFirst(fold.view, outgoing, outgoing.length - request.input.blocks);
  const { codec } = engine.provider;
  const carriage = { codec, scope: request.scope, itemIds: decision.capabilities["itemIds"] === true };
  return {
    request,
    settings,
    bodyText: "",
    bodyWith: () => "",
    shaped: shapedBlocks(input, decision.sendFrom, decision.repairs, carriage),
  };
}

/** Engines that have already emitted the process warning. */
const warned = new WeakSet<EngineOptions["life"]>();

/** Warns of a request that carries encrypted reasoning of old answers: it is unknown how long an endpoint can read its own. */
function warnOfAge(
  session: RunSession,
  frame: string,
  { contexts, now, shaped }: Pick<PlanRequest, "contexts" | "now"> & { readonly shaped: readonly SentBlock[] },
): void {
  const { warnOfReasoningAfterMs, life } = session.engine;
  const received = shaped.flatMap(({ block: { kind, wire } }) =>
    kind === "reasoning" && wire?.ciphertext !== undefined
      ? (contexts.ofInference(wire.group?.id ?? "")?.at ?? [])
      : [],
  );
  const old = received.filter((at) => Date.parse(now) - Date.parse(at) >= warnOfReasoningAfterMs);
  const [oldestAt] = old.toSorted();
  if (oldestAt === undefined) return;
  session.run.emit({ type: "reasoning-aged", frame, blocks: old.length, oldestAt });
  if (warned.has(life)) return;
  warned.add(life);
  process.emitWarning(
    `a request carries encrypted reasoning from ${oldestAt}, which its endpoint may no longer be able to read: createEngine's reasoning.keepForMs leaves out old reasoning, reasoning.warnAfterMs sets when to warn`,
    "TurnlogWarning",
  );
}

/** The layers about which a run has already emitted the process warning. */
const warnedAbout = new WeakMap<LiveRun, Set<string>>();

/** No vendor keeps a cache entry longer unless it is used. */
const keptMs = 24 * 60 * 60 * 1_000;

/** Tokens are estimated, because a request is counted only once it is answered. */
const bytesPerToken = 4;

/** Reports a request that gives up so much of an earlier prompt that it is dear, before it is sent. */
function tellLostCache(
  { run, engine }: RunSession,
  frame: string,
  { decision, asked }: { readonly decision: Decision; readonly asked: Pick<PlanRequest, "contexts" | "now"> },
): void {
  const { cache } = decision;
  if (engine.cacheLost === null || cache === undefined || cache === null || isUnknownLoss(cache)) return;
  const tokens = Math.round(cache.lostBytes / bytesPerToken);
  if (tokens <= engine.cacheLost.tokens || !isCached(cache, asked)) return;
  const { actor, settings } = cache;
  run.emit({ type: "cache-lost", frame, tokens, actor, settings });
  if (actor?.kind !== "middleware") return;
  const known = warnedAbout.get(run) ?? new Set();
  warnedAbout.set(run, known);
  if (known.has(actor.name)) return;
  known.add(actor.name);
  process.emitWarning(
    `the layer '${actor.name}' changed what was sent before, so a request pays for about ${tokens} tokens again that a prompt cache may hold: \`turnlog why\` shows the change, and createEngine's cacheLost sets when to warn`,
    "TurnlogWarning",
  );
}

/** Whether the earlier prompt may still be cached. */
function isCached({ against }: CacheLoss, { contexts, now }: Pick<PlanRequest, "contexts" | "now">): boolean {
  const at = contexts.ofInference(against)?.at;
  return at !== undefined && Date.parse(now) - Date.parse(at) < keptMs;
}
