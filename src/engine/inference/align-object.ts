import { isJsonList, type JsonValue } from "../../base/json.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import type { ConversationEventOf } from "../../domain/events/event.ts";
import type { Decision } from "../../domain/events/inference-events.ts";
import { isAside } from "../../domain/frame.ts";
import { blockIdSchema } from "../../domain/ids.ts";
import type { ServerObject } from "../../projections/server-contexts/server-contexts.ts";
import { runEffect } from "../effects/run-effect.ts";
import { plan } from "../planning/plan.ts";
import type { PlanRequest } from "../planning/plan-request.ts";
import { EffectFailedError } from "../ports/effect-errors.ts";
import type { EffectWork } from "../ports/middleware.ts";
import { ProviderError } from "../ports/provider-error.ts";
import type { ConversationObjects } from "../ports/stored-responses.ts";
import { engineActor, type RunSession, record } from "../session/session.ts";
import { askedFor } from "./prepare-request.ts";
import type { Retry } from "./reactions.ts";
import { noRetries, retryDelayMs } from "./retry.ts";
import type { Step } from "./step-request.ts";

/** If aligning takes more calls than this (the listing, and one for each item to delete), a new object is created instead. */
const maxCalls = 20;

/** How often per request an object that is gone is created anew. */
const maxObjects = 3;

/**
 * Before a request of mode `conversation`: makes the server's object hold a prefix of the outgoing Turn, and nothing else. The request
 * carries the rest, so that it enters the object together with the answer. Every call is an effect of the run: it is durable before it is
 * made, and a resumed run takes its result from the log.
 *
 * @throws {ProviderError} if a call to the server fails for good.
 * @throws {TurnlogError} `chain-required` if only a new object would do and the policy requires a chain.
 */
export async function alignObject(
  session: RunSession,
  step: Step,
  { retry, beforeEffect }: { readonly retry: Retry; readonly beforeEffect?: (() => void) | undefined },
): Promise<void> {
  const { provider, chain } = session.engine;
  const { conversations } = provider;
  if (chain.mode !== "conversation" || conversations === undefined || isAside(step.frame)) return;
  const align = { session, step, conversations, beforeEffect };
  for (let objects = 0; ; objects += 1) {
    try {
      if (await isAligned(align, retry)) return;
    } catch (error) {
      const cause = error instanceof EffectFailedError ? error.cause : error;
      if (!(cause instanceof ProviderError)) throw error;
      if (objects === maxObjects || !isMended(align, cause)) throw cause;
    }
  }
}

/** Consumes the object effects that a resumed run made before the requests of a frame: none is repeated. */
export function meetObjectEffects(session: RunSession, frame: string): void {
  const { journal, ids } = session.run;
  for (const { id, name, frame: at, past } of [...journal.log.effects.values()]) {
    if (at !== frame || !objectEffects.has(name)) continue;
    journal.effect(id, name, frame);
    ids.next(`object ${frame}`);
    if (past.state !== "started") continue;
    // The outcome is unknown: the object's items are listed before it is used.
    const answer = { outcome: "error", message: "the process that asked ended before the answer came" } as const;
    const data = { effectId: id, answer, durationMs: 0 };
    record(session.run, { type: "EffectFinished", version: 1, data }, { kind: "recovery" }, frame);
  }
}

type Aligning = {
  readonly session: RunSession;
  readonly step: Step;
  readonly conversations: ConversationObjects;
  /** Called before each of its effects. */
  readonly beforeEffect?: (() => void) | undefined;
};

/** Whether the request can be sent as it is planned now. If not, there is a new object, and the request has to be planned again. */
async function isAligned(align: Aligning, retry: Retry): Promise<boolean> {
  const { session, step } = align;
  // The log says what the object holds, so it has to be complete.
  await session.run.recorder.flush();
  step.scope.throwIfEnded();
  const { object, isUsable, decision, lastItem, keeps } = await situation(align, retry);
  if (!isUsable) return true;
  if (object !== null && decision.anchor !== null) {
    if (object.isKnown && keeps === object.exchanges.length) return true;
    if (await isCutTo(align, object, { keeps, lastItem })) return true;
  }
  if (object !== null && session.engine.chain.require === true)
    throw new TurnlogError(
      "chain-required",
      `the request cannot continue in ${object.anchor.id}: it needs a new object, but chain.require requires a chain`,
    );
  await makeObject(align);
  return false;
}

type Situation = {
  readonly object: ServerObject | null;
  readonly isUsable: boolean;
  readonly decision: Decision;
  /** How many exchanges of the object form a prefix of the Turn. */
  readonly keeps: number;
  /** The id of the last item of those exchanges; null if it is unknown. */
  readonly lastItem: string | null;
};

async function situation({ session, step }: Aligning, retry: Retry): Promise<Situation> {
  const look = (): Situation => {
    const asked = askedFor(session, step, retry);
    const object = asked.contexts.object(asked.scope);
    const decision = plan(asked);
    const isUsable = asked.capabilities.conversations === true;
    return { object, isUsable, decision, ...keptOf(asked, object, decision) };
  };
  try {
    return look();
  } catch (error) {
    if (!(error instanceof TurnlogError && error.code === "content-not-read")) throw error;
    await session.run.fold.readAll();
    return look();
  }
}

function keptOf({ contexts, turn }: PlanRequest, object: ServerObject | null, { anchor }: Decision) {
  const nothing = { keeps: 0, lastItem: null };
  const context = anchor === null || anchor.inferenceId === null ? null : contexts.ofInference(anchor.inferenceId);
  if (object === null || context === null) return nothing;
  const last = turn.at(context.length - 1)?.wire;
  const isOwn = last?.group?.id === context.inferenceId && last.group.index === last.group.size - 1;
  return { keeps: object.exchanges.indexOf(context.index) + 1, lastItem: isOwn ? (last.itemId ?? null) : null };
}

/**
 * Deletes what the object holds after the exchanges to keep. Returns false if that cannot be found, if it is too much, or if an answer that
 * was never received may still enter the object: it is no longer under way only once it is listed there.
 */
async function isCutTo(
  align: Aligning,
  { anchor, isAwaited, exchanges }: ServerObject,
  { keeps, lastItem }: Pick<Situation, "keeps" | "lastItem">,
): Promise<boolean> {
  const { session, step, conversations } = align;
  if (keeps > 0 && lastItem === null) return false;
  const listed = await perform(align, "conversation-list", (signal) =>
    patiently(align, signal, () => conversations.newestItems(anchor.id, { limit: maxCalls, signal })),
  );
  const newest = isJsonList(listed) ? listed.filter((id) => typeof id === "string") : [];
  if (keeps === 0) return newest.length === 0 && !isAwaited;
  const place = newest.indexOf(lastItem ?? "");
  if (place < 0) return false;
  const items = newest.slice(0, place);
  if (isAwaited && (items.length === 0 || keeps < exchanges.length)) return false;
  if (items.length === 0) return true;
  const { scope } = session.engine.provider;
  changed(session, step, { scope, anchor, change: "cut", keeps, items });
  await perform(align, "conversation-delete", async (signal) => {
    // Newest first: if a later deletion fails, the object still holds a prefix.
    for (const itemId of items)
      await patiently(align, signal, () => conversations.deleteItem(anchor.id, itemId, { signal }));
    return null;
  });
  return true;
}

async function makeObject(align: Aligning): Promise<void> {
  const { session, step, conversations } = align;
  const id = await perform(align, "conversation-create", (signal) =>
    patiently(align, signal, () => conversations.create({ signal })),
  );
  if (typeof id !== "string") throw new TypeError("the provider made a conversation object without an id");
  const { scope } = session.engine.provider;
  changed(session, step, { scope, anchor: { kind: "conversation", id }, change: "made" });
}

function changed(
  session: RunSession,
  { frame }: Step,
  data: ConversationEventOf<"ServerConversationChanged">["data"],
): void {
  record(session.run, { type: "ServerConversationChanged", version: 1, data }, engineActor, frame);
}

const objectEffects: ReadonlySet<string> = new Set(["conversation-create", "conversation-list", "conversation-delete"]);

/** Runs one effect. If the outcome of a creation is unknown, another object is created: the extra one is empty and harmless. */
async function perform(
  align: Aligning,
  name: string,
  call: (signal: AbortSignal) => Promise<JsonValue>,
): Promise<JsonValue> {
  const { session, step, beforeEffect } = align;
  const { run } = session;
  const { frame, scope } = step;
  beforeEffect?.();
  const number = run.ids.next(`object ${frame}`);
  const id = blockIdSchema.parse(`blk_${sha256Hex(`${run.id} ${frame} object ${number}`).slice(0, 21)}`);
  const work: EffectWork = ({ signal }) => call(signal);
  const place = { id, name, frame, actor: engineActor, signal: scope.signal, idempotent: true, isAside: true } as const;
  return runEffect(session, place, work);
}

/** Retries after a delay if the server is busy: another response may be under way in the object. */
async function patiently<T>({ session, step }: Aligning, signal: AbortSignal, call: () => Promise<T>): Promise<T> {
  for (let retries = 0; ; retries += 1) {
    try {
      return await call();
    } catch (error) {
      const asked = { frame: step.frame, retries: { ...noRetries, rejected: retries }, settings: {} };
      const delayMs = error instanceof ProviderError ? retryDelayMs(session, { error, ...asked }) : null;
      if (delayMs === null) throw error;
      await session.engine.sleep(delayMs, signal);
    }
  }
}

/** Whether a refusal can be worked around: an object that is gone is created anew, and an endpoint without objects is used without them. */
function isMended({ session, step }: Aligning, { kind, outcome, status, message }: ProviderError): boolean {
  const { provider, learned, chain } = session.engine;
  const { scope, configured = [] } = provider;
  const note = (event: Parameters<typeof record>[1]): void => {
    record(session.run, event, engineActor, step.frame);
  };
  if (kind === "conversation-not-found") {
    const { anchor } = session.run.fold.view.server.objects.get(scope) ?? { anchor: null };
    if (anchor === null) return false;
    note({ type: "AnchorInvalidated", version: 1, data: { scope, anchor, reason: "not-found" } });
    return true;
  }
  const isUnknownThere = outcome === "rejected" && (status === 404 || status === 405 || status === 501);
  if (!isUnknownThere || chain.onRefused === "throw" || configured.includes("conversations")) return false;
  learned.set("conversations", false);
  const data = { scope, capability: "conversations", value: false, reason: message } as const;
  note({ type: "CapabilityLearned", version: 1, data });
  return true;
}
