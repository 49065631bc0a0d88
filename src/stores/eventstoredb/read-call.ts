import { createWake } from "../wake.ts";
import type { ReadReq, ReadResp } from "./driver.ts";
import { Failure, failureOf, Silence } from "./failure.ts";
import type { ReadCall, Transport } from "./transport.ts";

export type ReadCallOptions = {
  /** Ends the call, with a failure. */
  readonly signal: AbortSignal;
  /** How long the server may say nothing while somebody waits for it. */
  readonly silenceMs: number;
  /** Lets the server be silent once it has said something: a subscription waits as long as it takes. */
  readonly maySleep?: boolean;
};

/**
 * The server's messages to one read, as many at a time as have come, and only as they are asked for: what nobody has
 * taken yet stays at the server but for a few. However the reading ends, the call does too.
 *
 * @throws {Failure} when the call fails, is aborted, or the server says nothing for too long.
 */
export async function* readMessages(
  transport: Pick<Transport, "startCall">,
  request: ReadReq,
  { signal, silenceMs, maySleep = false }: ReadCallOptions,
): AsyncGenerator<readonly ReadResp[], void> {
  const end: { call: ReadCall | null; reason: Failure | null } = { call: null, reason: null };
  const givenUp = Promise.withResolvers<never>();
  const giveUp = (failure: Failure): void => {
    end.reason ??= failure;
    givenUp.reject(end.reason);
    end.call?.cancel();
  };
  const onAbort = (): void => {
    giveUp(new Failure("passing", "the reading was aborted"));
  };
  signal.addEventListener("abort", onAbort);
  if (signal.aborted) onAbort();
  const silence = watchSilence(silenceMs, () => {
    giveUp(new Silence(silenceMs));
  });
  try {
    const started = transport.startCall((grpc, ...args) => {
      if (end.reason !== null) throw end.reason;
      end.call = grpc.read(request, ...args);
      return end.call;
    });
    for await (const messages of messagesOf(await Promise.race([started, givenUp.promise]))) {
      silence.stop();
      yield messages;
      if (!maySleep) silence.start();
    }
  } catch (error) {
    throw end.reason ?? failureOf(error);
  } finally {
    givenUp.promise.catch(() => undefined);
    giveUp(new Failure("passing", "the reader had enough"));
    signal.removeEventListener("abort", onAbort);
    silence.end();
  }
}

/** What has come of a call each time, until it ends; what came before an error is given before the error. */
async function* messagesOf(call: ReadCall): AsyncGenerator<readonly ReadResp[], void> {
  const wake = createWake();
  const end: { isReached: boolean; error: Error | null } = { isReached: false, error: null };
  call.on("readable", wake.ring);
  call.on("end", () => {
    end.isReached = true;
    wake.ring();
  });
  call.on("error", (error: Error) => {
    end.error ??= error;
    wake.ring();
  });
  for (;;) {
    const messages: ReadResp[] = [];
    for (let message = take(call); message !== null; message = take(call)) messages.push(message);
    if (messages.length > 0) yield messages;
    else if (end.error !== null) throw end.error;
    else if (end.isReached) return;
    else await wake.sleep();
  }
}

const take = (call: ReadCall): ReadResp | null => call.read();

/** Calls back when somebody has waited for too long. */
function watchSilence(
  silenceMs: number,
  onSilence: () => void,
): { start: () => void; stop: () => void; end: () => void } {
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
