import { messageOf } from "../../base/error-message.ts";
import { isNestedDeeper, type JsonValue, jsonCopy, maxNesting } from "../../base/json.ts";
import type { Actor } from "../../domain/actor.ts";
import type { ConversationEventOf } from "../../domain/events/event.ts";
import type { BlockId } from "../../domain/ids.ts";
import { EffectFailedError } from "../ports/effect-errors.ts";
import { checkTimeLimit } from "../ports/limits.ts";
import type { EffectOptions, EffectWork } from "../ports/middleware.ts";
import { type RunSession, record } from "../session/session.ts";
import { effectKey } from "../tracing/spans/span.ts";
import { inDoubtText } from "./in-doubt.ts";
import { perform, withinTime } from "./perform.ts";
import { asEffect } from "./within-effect.ts";

type EffectAnswer = ConversationEventOf<"EffectFinished">["data"]["answer"];

/** The place of a layer's effect. */
export type EffectPlace = {
  readonly id: BlockId;
  readonly name: string;
  readonly frame: string;
  readonly actor: Actor;
  readonly signal: AbortSignal;
  /** No layer waits for its answer, so its time does not advance any layer's clock. */
  readonly isAside?: true;
} & EffectOptions;

/**
 * Performs an effect of a layer, at most once unless it is idempotent: its start is durable before it begins, and afterwards the
 * log answers. The layer gets its own copy of the recorded answer, so that its changes affect neither the record nor a replay.
 *
 * @throws {EffectFailedError} if the effect failed.
 * @throws {RangeError} if its time limit is longer than other processes wait for the run.
 */
export async function runEffect(session: RunSession, place: EffectPlace, work: EffectWork): Promise<JsonValue> {
  const { run, engine } = session;
  const { id, name, frame, actor, signal, isAside = false } = place;
  const { idempotent = false, timeoutMs = engine.layerTimeoutMs } = place;
  checkTimeLimit(`the effect ${name}`, timeoutMs, engine.takeoverAfterMs);
  const past = run.journal.effect(id, name, frame);
  if (past.state === "finished") {
    if (!isAside) run.clock.delivered(past.at);
    if (past.answer.type !== "effect") throw new Error(`${id} is a tool call, not an effect of a layer`);
    return answered(name, past.answer.answer);
  }
  const doing = (): Promise<Done> => asEffect({ runId: run.id, name }, () => attempt({ ...place, timeoutMs }, work));
  const { answer, durationMs, settledBy } = await perform<Done>(session, past, {
    ...{ frame, signal, actor, effect: { kind: "effect", frame, name } },
    gated: isAside ? null : { id, frame, event: { type: "ToolParked", version: 1, data: { blockId: id, name } } },
    isIdempotent: past.state === "started" && past.isIdempotent,
    start: {
      ...{ type: "EffectStarted", version: 1 },
      data: { effectId: id, name, idempotencyKey: id, ...(idempotent ? { idempotent: true } : {}) },
    },
    // In the context of its span, so that what it traces is within it.
    work: () => (run.tracing === null ? doing() : run.tracing.within(effectKey(id), doing)),
    injected: (value, failure) => (failure === undefined ? given(name, value) : failed(failure, undefined)),
    settled: (settlement) =>
      settlement.how === "result"
        ? { answer: { outcome: "ok", value: settlement.output } }
        : { answer: { outcome: "error", message: inDoubtText } },
  });
  const data = { effectId: id, answer: answer.answer, durationMs };
  const at = isAside ? undefined : run.clock.deliveredNow();
  record(run, { type: "EffectFinished", version: 1, data }, settledBy ?? actor, frame, at);
  return answered(name, answer.answer, answer.cause);
}

type Done = { readonly answer: EffectAnswer; readonly cause?: unknown };

/** The value of an effect as the log records it: undefined becomes null, and a value that no log can hold fails the effect. */
function given(name: string, value: unknown): Done {
  try {
    const copy = jsonCopy(value ?? null);
    return isNestedDeeper(copy, maxNesting) ? tooDeep(name) : { answer: { outcome: "ok", value: copy } };
  } catch (cause) {
    if (cause instanceof RangeError) return tooDeep(name, cause);
    return failed(`the effect ${name} returned a value that is not JSON: ${messageOf(cause)}`, cause);
  }
}

const tooDeep = (name: string, cause?: unknown): Done =>
  failed(
    `the effect ${name} returned a value that cannot be stored: it has more than ${maxNesting} levels of lists and objects`,
    cause,
  );

const failed = (message: string, cause: unknown): Done => ({ answer: { outcome: "error", message }, cause });

async function attempt(place: EffectPlace & { readonly timeoutMs: number }, work: EffectWork): Promise<Done> {
  const { id, name, timeoutMs, signal } = place;
  const limits = { signal, timeoutMs, tooLate: `the effect ${name} did not end within ${timeoutMs} ms` };
  const ended = await withinTime(limits, (ends) => work({ idempotencyKey: id, signal: ends }));
  return ended.outcome === "ok" ? given(name, ended.value) : failed(messageOf(ended.error), ended.error);
}

function answered(name: string, answer: EffectAnswer, cause?: unknown): JsonValue {
  if (answer.outcome === "ok") return jsonCopy(answer.value);
  throw new EffectFailedError(name, answer.message, cause === undefined ? {} : { cause });
}
