import type { BlockNames } from "../../domain/block-names.ts";
import type { InferenceRequestedData } from "../../domain/events/inference-events.ts";
import type { ProposedEvent } from "../../domain/events/recorded.ts";
import { blockIdSchema, inferenceIdSchema } from "../../domain/ids.ts";
import { randomId } from "../../log/codec/ids.ts";
import type { ConversationWriter } from "../../log/writer/conversation-writer.ts";
import { RunInProgressError } from "../../log/writer/owner.ts";
import { type ConversationView, warmUpTurn } from "../../projections/views/conversation-view.ts";
import { usageOfFailed } from "../inference/arriving-answer.ts";
import { failureData } from "../inference/failure-data.ts";
import type { EngineOptions } from "../options/engine.ts";
import { type BuiltRequest, buildRequest, newRequest } from "../planning/build-request.ts";
import { chosenPolicy } from "../planning/choose-mode.ts";
import { contextsOf, learnedCapabilities } from "../planning/contexts.ts";
import { plan, refusalOf } from "../planning/plan.ts";
import type { PlanRequest } from "../planning/plan-request.ts";
import { requestSettings } from "../planning/request-settings.ts";
import { decodeResponse } from "../planning/response.ts";
import type { Capabilities, Lesson } from "../ports/capabilities.ts";
import type { InferenceResponse, Provider } from "../ports/provider.ts";
import { callProvider, deadlineOf } from "../ports/provider-call.ts";
import { ProviderError } from "../ports/provider-error.ts";
import { ConversationMovedError } from "../session/errors.ts";
import { engineActor } from "../session/session.ts";

/** The result of a warm-up. */
export type WarmUp = {
  /**
   * `warm`: the connection is open, and the next run sends only what is new. `connected`: the connection is open, and the next run sends
   * everything, because of its mode or because calls are still unanswered. `unavailable`: neither; the next run does what it would have
   * done without it.
   */
  readonly status: "warm" | "connected" | "unavailable";
  /** The request that was sent for it; null if none was needed, or there was no connection. */
  readonly inferenceId: string | null;
  /** Why it is unavailable, if something failed. */
  readonly failure: ProviderError | null;
};

/** A provider that keeps connections. */
export type Connecting = Provider & Required<Pick<Provider, "connect">>;
type WarmingUp = {
  readonly engine: EngineOptions & { readonly provider: Connecting };
  readonly signal: AbortSignal;
};

/** Does the warm-up once it is first in the conversation's queue. */
export async function warmUpNow(stream: ConversationWriter, warming: WarmingUp): Promise<WarmUp> {
  const { engine, signal } = warming;
  const { provider } = engine;
  await stream.refresh();
  await stream.learnFromAncestors();
  await stream.readAll();
  mustBeFree(stream.view);
  const capabilities = learnedCapabilities(provider, stream.view, engine.learned);
  if (capabilities[provider.transport] === false) return unavailable(null);
  try {
    const deadlineMs = deadlineOf(provider, engine);
    await callProvider({ signal, deadlineMs }, (call) =>
      provider.connect(stream.name, { capabilities, signal: call.signal }),
    );
  } catch (error) {
    if (error instanceof ProviderError) return unavailable(error);
    throw error;
  }
  const without: Lesson[] = [];
  for (;;) {
    const request = warmUpRequest(stream, engine, {
      capabilities: withoutThese(capabilities, without),
      names: await stream.names(),
    });
    const need = neededFor(request);
    if (need !== null) return { status: need, inferenceId: null, failure: null };
    const asked = await recordRequest(stream, engine, request);
    const answer = await answerTo(stream, warming, asked);
    await recordAnswer(stream, engine, { ...asked, answer, without });
    const { inferenceId } = asked.data;
    if (!(answer instanceof ProviderError))
      return { status: isHeld(stream.view, asked) ? "warm" : "connected", inferenceId, failure: null };
    const lesson = without.length > 0 ? null : lessonOf(provider, answer, request);
    if (lesson === null) return { ...unavailable(answer), inferenceId };
    without.push(lesson);
  }
}

/** Whether the next request may continue from it: an endpoint that generates an answer all the same, or fails, holds something else. */
function isHeld({ newest }: ConversationView, { data: { scope, inferenceId } }: Asked): boolean {
  const context = newest.get(scope)?.context;
  return context?.inferenceId === inferenceId && context.unusable === null;
}

const unavailable = (failure: ProviderError | null): WarmUp => ({ status: "unavailable", inferenceId: null, failure });

function mustBeFree({ client: { run } }: ConversationView): void {
  if (run !== null) throw new RunInProgressError(run.id, run.owner);
}

const withoutThese = (capabilities: Capabilities, without: readonly Lesson[]): Capabilities => ({
  ...capabilities,
  ...Object.fromEntries(without.map(({ capability }) => [capability, false])),
});

/** Planned like a request of a run, for the Turn that was sent and answered last. */
function warmUpRequest(
  { view, name }: ConversationWriter,
  engine: WarmingUp["engine"],
  { capabilities, names }: Pick<PlanRequest, "capabilities"> & { readonly names: BlockNames },
): PlanRequest {
  const { provider, clock } = engine;
  const { scope, codec, transport, systemAs } = provider;
  const { lives = null, details = {} } = provider.connection?.(name, capabilities) ?? {};
  return newRequest(view, warmUpTurn(view, scope), {
    endpoint: { scope, codec, transport, ...(systemAs === undefined ? {} : { systemAs }) },
    connection: { lives, details: { ...details, ...provider.warmUpDetails } },
    ...{ capabilities, names },
    policy: chosenPolicy(engine, view),
    settings: (instructions) => requestSettings(engine, capabilities, instructions),
    now: new Date(clock()).toISOString(),
    full: "warm-up",
  });
}

/** The status without a request; null if a request is needed. */
function neededFor(request: PlanRequest): "warm" | "connected" | null {
  const { policy, capabilities, contexts, scope } = request;
  if (policy.mode === "stateless" || capabilities.chain !== true) return "connected";
  const newest = contexts.newest(scope);
  if (newest !== null && refusalOf(request, newest.context) === null) return "warm";
  // Calls without results yet would be sent as aborted, and their later results would not be read.
  return plan(request).repairs.some(({ rule }) => rule === "answer") ? "connected" : null;
}

type Asked = { readonly request: PlanRequest; readonly data: InferenceRequestedData } & Pick<
  BuiltRequest,
  "bodyText" | "bodyWith"
>;

/** Records the request before it is sent. */
async function recordRequest(
  stream: ConversationWriter,
  { provider, newId }: WarmingUp["engine"],
  request: PlanRequest,
): Promise<Asked> {
  const built = buildRequest(request);
  const { turn: input, settings, settingsDigest: digest, scope, contexts } = request;
  const outgoing = warmUpTurn(stream.view, scope);
  const data: InferenceRequestedData = {
    inferenceId: inferenceIdSchema.parse(newId("inf")),
    attempt: 0,
    ...{ scope, encoder: provider.codec.name, settingsDigest: digest, decision: built.decision },
    input: { ...built.input, ...(input === outgoing ? {} : { outgoing: outgoing.digest }) },
    ...{ requestDigest: built.digest, requestBytes: built.bytes },
  };
  const planned = contexts.newest(scope)?.context.inferenceId;
  const events: ProposedEvent[] = [
    { event: { type: "SettingsDeclared", version: 2, data: { digest, settings } }, actor: engineActor },
    { event: { type: "WarmUpRequested", version: 1, data }, actor: engineActor },
  ];
  await committed(stream, events, (view) => {
    // Another process began a run: the plan is for another Turn.
    mustBeFree(view);
    if (contextsOf(view).newest(scope)?.context.inferenceId !== planned) throw new ConversationMovedError();
  });
  return { request, data, bodyText: built.bodyText, bodyWith: built.bodyWith };
}

async function answerTo(
  stream: ConversationWriter,
  { engine, signal: caller }: WarmingUp,
  { request: { settings }, data: { decision }, bodyText, bodyWith }: Asked,
): Promise<InferenceResponse | ProviderError> {
  const { provider } = engine;
  const { transport, lives = null, details = {} } = decision;
  try {
    const connection = { conversation: stream.name, lives, details };
    return await callProvider({ signal: caller, deadlineMs: deadlineOf(provider, engine) }, ({ signal }) =>
      provider.infer({ bodyText, bodyWith, settings, transport, connection, signal, onDelta: () => undefined }),
    );
  } catch (error) {
    if (error instanceof ProviderError) return error;
    throw error;
  }
}

type Answered = Asked & { readonly answer: InferenceResponse | ProviderError; readonly without: readonly Lesson[] };

async function recordAnswer(
  stream: ConversationWriter,
  { provider, learned }: WarmingUp["engine"],
  { request, data, answer, without }: Answered,
): Promise<void> {
  const { inferenceId } = data;
  const actor = { kind: "provider", name: provider.name, inferenceId } as const;
  if (answer instanceof ProviderError) {
    const { settings, capabilities } = request;
    const usage = usageOfFailed(answer, provider.codec, { inferenceId, settings, capabilities });
    const failed = { type: "WarmUpFailed", version: 1, data: { inferenceId, ...failureData(answer, usage) } } as const;
    await committed(stream, [{ event: failed, actor }]);
    return;
  }
  const decoded = decodeResponse(answer.response, {
    ...{ request: data, settings: request.settings, provider, lives: answer.lives, isMasked: answer.isMasked === true },
    names: await stream.names(),
    newBlockId: () => blockIdSchema.parse(randomId("blk")),
  });
  const lessons = without.map((lesson): ProposedEvent => {
    learned.set(lesson.capability, false);
    const event = {
      type: "CapabilityLearned",
      version: 1,
      data: { scope: request.scope, value: false, ...lesson },
    } as const;
    return { event, actor: engineActor };
  });
  await committed(stream, [...lessons, { event: { type: "WarmUpAnswered", version: 1, data: decoded.data }, actor }]);
}

/** The capability that an endpoint lacks according to a refusal before inference. */
const lessonOf = (
  { codec, configured = [] }: Provider,
  error: ProviderError,
  { settings }: PlanRequest,
): Lesson | null => {
  const lesson = error.outcome === "rejected" ? (codec.lessonOf?.(error, settings) ?? null) : null;
  return lesson === null || configured.includes(lesson.capability) ? null : lesson;
};

async function committed(
  stream: ConversationWriter,
  events: readonly ProposedEvent[],
  guard?: (view: ConversationView) => void,
): Promise<void> {
  const result = await stream.commit(events, guard);
  if (result.status === "rejected") throw new Error(`refused: ${JSON.stringify(result.rejection)}`);
}
