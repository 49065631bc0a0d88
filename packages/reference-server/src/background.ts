import { framesOf, queuedFrames, streamText } from "./frames.ts";
import type { HeldResponse, Memory } from "./memory.ts";
import { responseBody, startedBody } from "./response-body.ts";
import type { JsonObject } from "./wire.ts";

/** Background responses in progress, by id: each promise resolves with the result. */
export type UnderWay = Map<string, PromiseWithResolvers<HeldResponse>>;

/** What the stream of such a response needs. */
interface Streaming {
  readonly memory: Memory;
  readonly underWay: UnderWay;
  readonly deltaLength: number;
  /** The number of the last event that the client has. */
  readonly startingAfter: number;
  readonly withCiphertexts: boolean;
}

/** Whether the events of a response can be read again: only if it was requested in the background, and as a stream. */
export function isReplayable({ isBackground, head }: HeldResponse): boolean {
  return isBackground && head.body["stream"] === true;
}

/** The events of a background response after that number: existing ones at once, the rest when it is made. */
export function replay(held: HeldResponse, streaming: Streaming): AsyncIterable<string> {
  const made = streaming.underWay.get(held.head.id)?.promise ?? Promise.resolve(held);
  return textsOf(held, made, streaming);
}

async function* textsOf(
  queued: HeldResponse,
  made: Promise<HeldResponse>,
  { memory, startingAfter, deltaLength, withCiphertexts }: Streaming,
): AsyncGenerator<string> {
  const isLater = (frame: JsonObject): boolean => Number(frame["sequence_number"]) > startingAfter;
  const started = startedBody(queued.head, "queued");
  const begin = framesOf({ started, finished: started, items: () => [], deltaLength, isQueued: true });
  yield streamText(begin.slice(0, queuedFrames).filter(isLater));
  const { head, output } = await made;
  const items = (): readonly JsonObject[] => memory.deliver(output, withCiphertexts);
  const finished = responseBody(head, items());
  const frames = framesOf({ started, finished, items, deltaLength, isQueued: true });
  yield streamText(frames.slice(queuedFrames).filter(isLater));
}
