import { createNotifier } from "../notifier.ts";
import type { ReadCall } from "./client.ts";
import type { Connection } from "./connection.ts";
import { EsdbFailure, esdbFailureOf, TimeoutFailure } from "./failure.ts";
import { type ReadMessage, type ReadReq, type ReadResp, readMessage } from "./messages.ts";

export type ReadCallOptions = {
  /** Ends the call, with a failure. */
  readonly signal: AbortSignal;
  /** How long the server may say nothing while somebody waits for it. */
  readonly silenceMs: number;
  /** On the connection that this call is on. */
  readonly beside?: ReadCall;
  /** Asks for so little that it ends by itself when its reader has had enough: servers and what stands before them count calls that are broken off. */
  readonly isShort?: boolean;
  /**
   * For the one call that stays open: it may be silent once it has said something. It is not counted among the reads; after
   * each silence this asks whether the server is what it was, and rejects where it is not.
   */
  readonly probe?: (call: ReadCall) => Promise<void>;
};

/**
 * The server's messages to one read, as many at a time as have come, and only as they are asked for: what nobody has
 * taken yet stays at the server but for a few. However the reading ends, the call does too.
 *
 * A call whose reader takes long ends as well, because a server drops the whole connection of a reader that stalls,
 * and because calls are few: a reader who comes back begins another where it was.
 *
 * @throws {EsdbFailure} when the call fails, is aborted, or the server says nothing for too long.
 */
export async function* readMessages(
  connection: Pick<Connection, "startCall" | "reconnect" | "slots">,
  request: ReadReq,
  { signal, silenceMs, beside, probe, isShort = false }: ReadCallOptions,
): AsyncGenerator<readonly ReadMessage[], void> {
  const end: { call: ReadCall | null; reason: EsdbFailure | null } = { call: null, reason: null };
  const givenUp = Promise.withResolvers<never>();
  givenUp.promise.catch(() => undefined);
  // The one call that stays open has a place of its own.
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

/** Lets a call come to its end, whatever it still says. */
async function runOut(call: ReadCall, limitMs: number): Promise<void> {
  const over = Promise.withResolvers<undefined>();
  const cancel = setTimeout(() => call.cancel(), limitMs);
  for (const event of ["end", "error", "close"]) call.once(event, () => over.resolve(undefined));
  if (call.readableEnded || call.destroyed) over.resolve(undefined);
  call.resume();
  await over.promise;
  clearTimeout(cancel);
}

/** Long for a program that works, and short for a server, which gives up on a connection after minutes. */
const readerLimitMs = 10_000;

/** What has come of a call each time, until it ends; what came before an error is given before the error. */
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
    // While somebody listens to it the rest cannot be passed over.
    call.off("readable", wake.notify);
  }
}

const take = (call: ReadCall): ReadResp | null => call.read();

type Limit = { readonly start: () => void; readonly stop: () => void; readonly end: () => void };

/** Calls back when something that was started takes longer than it may. */
function createLimit(limitMs: number, onOver: () => void): Limit {
  let isRunning = false;
  let timer: NodeJS.Timeout | undefined;
  return {
    start() {
      isRunning = true;
      // One timer that is set back: making one for each message would cost more than the message.
      // After a time in which the event loop stood still, something may have come that was not looked at.
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
