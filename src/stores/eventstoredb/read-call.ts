import type { ReadCall, Transport } from "./connection.ts";
import type { ReadReq, ReadResp } from "./driver.ts";
import { Failure, failureOf } from "./failure.ts";

export type ReadCallOptions = {
  /** Ends the call, with a failure. */
  readonly signal: AbortSignal;
  /** How long the server may say nothing while somebody waits for it. */
  readonly silenceMs: number;
  /** Lets the server be silent once it has said something: a subscription waits as long as it takes. */
  readonly maySleep?: boolean;
};

/**
 * The server's messages to one read, as they are asked for: what nobody has taken yet stays at the server but for a few.
 * However the reading ends, the call does too.
 *
 * @throws {Failure} when the call fails, is aborted, or the server says nothing for too long.
 */
export async function* readMessages(
  transport: Transport,
  request: ReadReq,
  { signal, silenceMs, maySleep = false }: ReadCallOptions,
): AsyncGenerator<ReadResp, void> {
  const givenUp = Promise.withResolvers<never>();
  let call: ReadCall | null = null;
  let reason: Failure | null = null;
  const giveUp = (failure: Failure): void => {
    reason ??= failure;
    givenUp.reject(reason);
    call?.cancel();
  };
  const onAbort = (): void => {
    giveUp(new Failure("passing", "the reading was aborted"));
  };
  signal.addEventListener("abort", onAbort);
  if (signal.aborted) onAbort();
  const silence = watchSilence(silenceMs, () => {
    giveUp(new Failure("passing", `no answer within ${silenceMs} ms, the defaultDeadline of its address`));
  });
  try {
    const started = transport.startCall((grpc, ...args) => {
      if (reason !== null) throw reason;
      return grpc.read(request, ...args);
    });
    call = await Promise.race([started, givenUp.promise]);
    // The messages of this call are of this type; the stream's own type does not say so.
    const messages = call[Symbol.asyncIterator]() as AsyncIterator<ReadResp, undefined>;
    for (;;) {
      const { value, done } = await messages.next();
      silence.stop();
      if (done === true) return;
      yield value;
      if (!maySleep) silence.start();
    }
  } catch (error) {
    throw reason ?? failureOf(error);
  } finally {
    givenUp.promise.catch(() => undefined);
    giveUp(new Failure("passing", "the reader had enough"));
    signal.removeEventListener("abort", onAbort);
    silence.end();
  }
}

/** Calls back when somebody has waited for too long. */
function watchSilence(silenceMs: number, onSilence: () => void): { start: () => void; stop: () => void; end: () => void } {
  let isWaiting = true;
  // One timer that is set back: making one for each message would cost more than the message.
  const timer = setTimeout(() => {
    if (isWaiting) onSilence();
  }, silenceMs);
  return {
    start() {
      isWaiting = true;
      timer.refresh();
    },
    stop() {
      isWaiting = false;
    },
    end() {
      clearTimeout(timer);
    },
  };
}
