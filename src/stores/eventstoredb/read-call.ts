import { createNotifier } from "../notifier.ts";
import type { ReadCall } from "./client.ts";
import type { Connection } from "./connection.ts";
import { EsdbFailure, esdbFailureOf, TimeoutFailure } from "./failure.ts";
import { type ReadMessage, type ReadReq, type ReadResp, readMessage } from "./messages.ts";

export type ReadCallOptions = {
  /** Ends the call with a failure. */
  readonly signal: AbortSignal;
  /** How long the server may be silent while a reader waits. */
  readonly silenceMs: number;
  /** Use the connection of this call. */
  readonly beside?: ReadCall;
  /** Requests so little that the call ends by itself: servers and proxies count cancelled calls. */
  readonly isShort?: boolean;
  /**
   * For the one call that stays open: it may be silent after its first message. It does not count among the reads. After
   * each silence, `probe` checks that the server is unchanged, and rejects if it is not.
   */
  readonly probe?: (call: ReadCall) => Promise<void>;
};

/**
 * The server's messages to one read, in batches as they arrive, and only on demand: all but a few unread ones stay
 * at the server. However the read ends, the call ends with it.
 *
 * A call also ends when its reader takes too long, because a server drops the whole connection of a reader that stalls,
 * and because calls are limited: the reader later starts another call where it stopped.
 *
 * @throws {EsdbFailure} if the call fails or is aborted, or the server is silent for too long.
 */
export async function* readMessages(
  connection: Pick<Connection, "startCall" | "reconnect" | "slots">,
  request: ReadReq,
  { signal, silenceMs, beside, probe, isShort = false }: ReadCallOptions,
): AsyncGenerator<readonly ReadMessage[], void> {
  const end: { call: ReadCall | null; reason: EsdbFailure | null } = { call: null, reason: null };
  const givenUp = Promise.withResolvers<never>();
  givenUp.promise.catch(() => undefined);
  // The one call that stays open needs no slot.
  const slot = probe === undefined ? connection.slots.take() : Promise.resolve(null);
  const giveUp = (failure: EsdbFailure): void => {
    end.reason ??= failure;
    givenUp.reject(end.reason);
    end.call?.cancel();
    void release();
  };
  const release = async (): Promise<void> => (await slot)?.release();
  const leave = (): void => {
    if (isShort && end.call !== null && end.reason === null) void runOut(end.call, silenceMs).then(release);
    else giveUp(new EsdbFailure("passing", "the reader had enough"));
  };
  const onAbort = (): void => giveUp(new EsdbFailure("passing", "the reading was aborted"));
  signal.addEventListener("abort", onAbort);
  if (signal.aborted) onAbort();
  const server = createLimit(silenceMs, () => {
    if (end.call !== null) void connection.reconnect(end.call);
    giveUp(new TimeoutFailure(silenceMs));
  });
  const asking = createLimit(silenceMs, () => {
    if (end.call !== null) probe?.(end.call).then(asking.start, (error: unknown) => giveUp(esdbFailureOf(error)));
  });
  const giveWay = (): void => giveUp(new EsdbFailure("passing", "the reader took its time"));
  const reader = createLimit(readerLimitMs, giveWay);
  try {
    const place = await Promise.race([slot, givenUp.promise]);
    server.start();
    const started = connection.startCall((grpc, ...args) => {
      if (end.reason !== null) throw end.reason;
      end.call = grpc.read(request, ...args);
      return end.call;
    }, beside);
    for await (const messages of messagesOf(await Promise.race([started, givenUp.promise]))) {
      server.stop();
      asking.stop();
      reader.start();
      place?.lend(giveWay);
      yield messages;
      place?.keep();
      reader.stop();
      if (end.reason !== null) throw end.reason;
      (probe === undefined ? server : asking).start();
    }
  } catch (error) {
    throw end.reason ?? esdbFailureOf(error);
  } finally {
    leave();
    signal.removeEventListener("abort", onAbort);
    for (const limit of [server, asking, reader]) limit.end();
  }
}

/** Lets a call run to its end and ignores the rest. */
async function runOut(call: ReadCall, limitMs: number): Promise<void> {
  const over = Promise.withResolvers<undefined>();
  const cancel = setTimeout(() => call.cancel(), limitMs);
  for (const event of ["end", "error", "close"]) call.once(event, () => over.resolve(undefined));
  if (call.readableEnded || call.destroyed) over.resolve(undefined);
  call.resume();
  await over.promise;
  clearTimeout(cancel);
}

/** Long enough for a working program, and short for a server, which drops a connection after minutes. */
const readerLimitMs = 10_000;

/** Yields the messages received so far, until the call ends; those before an error come before the error. */
async function* messagesOf(call: ReadCall): AsyncGenerator<readonly ReadMessage[], void> {
  const wake = createNotifier();
  const end: { isReached: boolean; error: Error | null } = { isReached: false, error: null };
  call.on("readable", wake.notify);
  call.on("end", () => {
    end.isReached = true;
    wake.notify();
  });
  call.on("error", (error: Error) => {
    end.error ??= error;
    wake.notify();
  });
  try {
    for (;;) {
      const messages: ReadMessage[] = [];
      for (let message = take(call); message !== null; message = take(call)) messages.push(readMessage(message));
      if (messages.length > 0) yield messages;
      else if (end.error !== null) throw end.error;
      else if (end.isReached) return;
      else await wake.wait();
    }
  } finally {
    // A listener would keep the stream from discarding the rest.
    call.off("readable", wake.notify);
  }
}

const take = (call: ReadCall): ReadResp | null => call.read();

type Limit = { readonly start: () => void; readonly stop: () => void; readonly end: () => void };

/** Calls back when a started operation exceeds its time limit. */
function createLimit(limitMs: number, onOver: () => void): Limit {
  let isRunning = false;
  let timer: NodeJS.Timeout | undefined;
  return {
    start() {
      isRunning = true;
      // Reuses one timer: creating one for each message would cost more than the message.
      // If the event loop was blocked, a message may have arrived that was not processed yet.
      if (timer === undefined) timer = setTimeout(() => setImmediate(() => isRunning && onOver()), limitMs);
      else timer.refresh();
    },
    stop() {
      isRunning = false;
    },
    end() {
      isRunning = false;
      clearTimeout(timer);
    },
  };
}
