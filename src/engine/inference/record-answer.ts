import { messageOf } from "../../base/error-message.ts";
import { isNestedDeeper, type JsonObject, maxNesting } from "../../base/json.ts";
import type { Block } from "../../domain/block.ts";
import type { InferenceRequestedData, ResponseReceivedData } from "../../domain/events/inference-events.ts";
import type { ReportedUsage } from "../../domain/events/shared.ts";
import type { BlockId } from "../../domain/ids.ts";
import { decodeResponse } from "../planning/response.ts";
import type { Codec } from "../ports/codec.ts";
import type { InferenceResponse } from "../ports/provider.ts";
import { ProviderError } from "../ports/provider-error.ts";
import { newBlockId, type RunSession, record } from "../session/session.ts";
import type { ArrivingAnswer } from "./arriving-answer.ts";
import { failureData } from "./failure-data.ts";
import { type FollowUp, toldOf } from "./follow-up.ts";
import type { Prepared } from "./prepare-request.ts";

/** A response and the blocks that the run continues with. */
export type Received = {
  readonly data: ResponseReceivedData;
  readonly blocks: readonly Block[];
};

/** A failure and what follows it. */
export type Failed = {
  readonly error: ProviderError;
  readonly followUp: FollowUp;
  readonly failedAt: number;
};

type Answered = {
  readonly answer: InferenceResponse | ProviderError;
  /** What had come before the answer was complete. */
  readonly arriving: ArrivingAnswer;
  /** The delay before the same request is sent again; null if it is not. */
  readonly retryInMs: (error: ProviderError) => number | null;
  /** Decides what follows a failure after which it is not. */
  readonly otherwise: (error: ProviderError) => Promise<FollowUp>;
  /** Records what the answer proves, before it. */
  readonly prove: () => void;
};

/** Records the outcome of a request. */
export async function recordAnswer(
  session: RunSession,
  frame: string,
  { request, settings }: Pick<Prepared, "request" | "settings">,
  { answer, arriving, retryInMs, otherwise, prove }: Answered,
): Promise<Received | Failed> {
  const { provider } = session.engine;
  const { inferenceId } = request;
  const fail = (failed: Omit<Failed, "failedAt">): Failed => {
    const { capabilities } = request.decision;
    const usage = arriving.usageOf(failed.error, provider.codec, { inferenceId, settings, capabilities });
    return recordFailure(session, frame, { inferenceId, usage, ...failed });
  };
  if (answer instanceof ProviderError) {
    const again = retryInMs(answer);
    const followUp = again === null ? await otherwise(answer) : ({ how: "retry", retryInMs: again } as const);
    return fail({ error: answer, followUp });
  }
  const newId = (): BlockId => newBlockId(session.run, frame);
  const decoded = tryToDecode(answer.response, {
    ...{ request, settings, provider, newBlockId: newId, names: session.run.names, lives: answer.lives },
    isMasked: answer.isMasked === true,
  });
  if (decoded instanceof ProviderError) return fail({ error: decoded, followUp: await otherwise(decoded) });
  prove();
  const { blocks } = decoded;
  const { requestId } = answer;
  const { firstMs } = arriving;
  const data = {
    ...decoded.data,
    ...(typeof requestId === "string" ? { requestId } : {}),
    ...(firstMs === null ? {} : { firstMs }),
  };
  const at = session.run.clock.deliveredNow();
  const actor = { kind: "provider", name: provider.name, inferenceId } as const;
  record(session.run, { type: "ResponseReceived", version: 1, data }, actor, frame, at);
  return { data, blocks };
}

/** A provider may return anything as a response. It was paid for, so a response that the codec cannot read is kept as received. */
function tryToDecode(...given: Parameters<typeof decodeResponse>): ReturnType<typeof decodeResponse> | ProviderError {
  const [response, { provider }] = given;
  if (isNestedDeeper(response, maxNesting)) return nestedTooDeeply(response, provider.codec);
  try {
    return decodeResponse(...given);
  } catch (cause) {
    const message = `the codec ${provider.codec.name} cannot read the response: ${messageOf(cause)}`;
    return new ProviderError(message, { kind: "provider-failed", outcome: "unknown", body: response, cause });
  }
}

/** Values nested this deeply could not be read back. Items that are not are kept: they were paid for. */
function nestedTooDeeply(response: JsonObject, codec: Codec): ProviderError {
  const message = `the answer cannot be stored: it has more than ${maxNesting} levels of lists and objects`;
  const items = codec.itemsOf?.(response) ?? [];
  const partial = items.filter((item) => !isNestedDeeper(item, maxNesting));
  return new ProviderError(message, { kind: "unstorable", outcome: "unknown", partial });
}

function recordFailure(
  session: RunSession,
  frame: string,
  {
    inferenceId,
    usage,
    error,
    followUp,
  }: Omit<Failed, "failedAt"> & {
    readonly inferenceId: InferenceRequestedData["inferenceId"];
    readonly usage: ReportedUsage | null;
  },
): Failed {
  const { engine } = session;
  const data = { inferenceId, ...failureData(error, usage), ...toldOf(followUp) };
  const actor = { kind: "provider", name: engine.provider.name, inferenceId } as const;
  record(session.run, { type: "InferenceFailed", version: 1, data }, actor, frame);
  return { error, followUp, failedAt: engine.clock() };
}
