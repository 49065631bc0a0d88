import { type ServerDuplexStream, status } from "@grpc/grpc-js";
import type { CallHandle } from "./calls.ts";
import type { ExpectedRevision, ProposedEvent } from "./event-log.ts";
import { asCallError, batchStatus, CallError, type Failure } from "./failures.ts";
import type { ArmedFault } from "./faults.ts";
import { act, admit, type NodeContext } from "./node-context.ts";
import { expectedOf, namedStream, proposedEvent, sizeOnDisk, streamName } from "./proposed.ts";
import { shared, streams } from "./protocol.ts";
import { replicated, type SettledOutcome } from "./replication.ts";

type Request = InstanceType<typeof streams.BatchAppendReq>;
type Response = InstanceType<typeof streams.BatchAppendResp>;
type Options = InstanceType<typeof streams.BatchAppendReq.Options>;

interface PendingAppend {
  readonly correlation: string;
  readonly stream: string;
  readonly expected: ExpectedRevision;
  readonly events: ProposedEvent[];
  readonly fault: ArmedFault | null;
  readonly timer: NodeJS.Timeout;
  bytes: number;
}

/**
 * `Streams/BatchAppend`: one duplex call for all appends of a channel. The chunks of an append share a correlation id,
 * the first carries its options, the last is marked final; each append is answered once, in its own words, and what
 * cannot be said in an answer (not leader, a broken handler) ends the call with everything pending on it.
 */
export function serveBatchAppend(node: NodeContext, call: ServerDuplexStream<Request, Response>): void {
  const batch = new BatchCall(node, call);
  let queue = Promise.resolve();
  call.on("data", (request: Request) => {
    queue = queue.then(() => batch.receive(request));
  });
  call.on("end", () => {
    void queue.then(() => batch.end());
  });
  call.on("cancelled", () => batch.leave());
  call.on("error", () => batch.leave());
}

class BatchCall {
  readonly #node: NodeContext;
  readonly #call: ServerDuplexStream<Request, Response>;
  readonly #handle: CallHandle;
  readonly #pending = new Map<string, PendingAppend>();
  #isOver = false;

  constructor(node: NodeContext, call: ServerDuplexStream<Request, Response>) {
    this.#node = node;
    this.#call = call;
    this.#handle = node.calls.open("batch", "");
  }

  /** Takes one chunk; never rejects. */
  async receive(request: Request): Promise<void> {
    if (this.#isOver) return;
    const correlation = request.getCorrelationId()?.getString() ?? "";
    const options = request.getOptions();
    const stream = this.#pending.get(correlation)?.stream ?? streamName(options?.getStreamIdentifier());
    try {
      if (options !== undefined) this.#begin(correlation, stream, options);
      const append = this.#pending.get(correlation);
      // Chunks of an append that was refused already are passed over.
      if (append !== undefined) await this.#collect(append, request);
    } catch (error) {
      // The real handler reads the stream's name from the very chunk that failed. A later chunk has none: the call dies.
      const isBadChunk = error instanceof CallError && isRejectedMessage(error.failure);
      if (isBadChunk && options === undefined) this.#fail(new CallError(nullReference));
      else this.#refuse(correlation, stream, error);
    }
  }

  /** The client sends no more. */
  end(): void {
    if (this.#isOver) return;
    this.leave();
    this.#call.end();
  }

  leave(): void {
    this.#isOver = true;
    this.#handle.close();
    for (const { timer } of this.#pending.values()) clearTimeout(timer);
    this.#pending.clear();
  }

  #begin(correlation: string, stream: string, options: Options): void {
    admit(this.#node, this.#call.metadata, {
      operation: "append",
      stream: namedStream(options.getStreamIdentifier()),
      path: "batch",
    });
    const expected = expectedOf(options, options.hasStreamPosition() ? options.getStreamPosition() : null);
    const timeoutMs = Math.min(remainingMs(this.#node, options), this.#node.writeTimeoutMs);
    if (timeoutMs <= 0) throw new CallError({ kind: "timeout" });
    const expire = (): void => {
      if (this.#pending.delete(correlation)) this.#refuse(correlation, stream, new CallError({ kind: "timeout" }));
    };
    const timer = setTimeout(expire, timeoutMs).unref();
    const fault = this.#node.faults.take("append", stream);
    this.#pending.set(correlation, { correlation, stream, expected, events: [], bytes: 0, timer, fault });
  }

  async #collect(append: PendingAppend, request: Request): Promise<void> {
    const { fault } = append;
    const isFirst = append.events.length === 0 && request.getOptions() !== undefined;
    if (isFirst && fault?.fault.when === "first-chunk" && !(await act(this.#node, fault))) {
      this.#close(append);
      return;
    }
    // A message that is refused leaves the append pending, as on the real server: its time-out will be a second answer.
    for (const message of request.getProposedMessagesList()) {
      const event = proposedEvent(message);
      append.events.push(event);
      append.bytes += sizeOnDisk(event, this.#node.unkindness.countedBytes);
    }
    const maxBytes = this.#node.maxAppendBytes;
    if (append.bytes > maxBytes) {
      this.#close(append);
      throw new CallError({ kind: "too-large", maxBytes });
    }
    if (!request.getIsFinal()) return;
    this.#close(append);
    await this.#settle(append);
  }

  async #settle(append: PendingAppend): Promise<void> {
    const { fault, correlation, stream } = append;
    const when = fault?.fault.when ?? "before";
    if (fault !== null && when === "before" && !(await act(this.#node, fault))) return;
    // No stream has this name, for which the real server looks in vain until its process ends.
    if (stream === "$$") this.#node.die("kill");
    if (this.#isOver || stream === "$$") return;
    const outcome = this.#node.isCutOff()
      ? ({ status: "dropped" } as const)
      : this.#node.log.append(stream, append.expected, append.events);
    const acknowledge = async (): Promise<void> => {
      const settled = await replicated(this.#node, outcome);
      if (fault !== null && when === "after" && !(await act(this.#node, fault))) return;
      this.#answer(correlation, stream, (response) => fillOutcome(response, append, settled));
    };
    // Not awaited: an acknowledgement that is held back must not hold back the appends behind it.
    void acknowledge().catch((error: unknown) => this.#refuse(correlation, stream, error));
  }

  #close(append: PendingAppend): void {
    clearTimeout(append.timer);
    this.#pending.delete(append.correlation);
  }

  #answer(correlation: string, stream: string, fill: (response: Response) => void): void {
    if (this.#isOver) return;
    const response = new streams.BatchAppendResp();
    response.setCorrelationId(new shared.UUID().setString(correlation));
    response.setStreamIdentifier(new shared.StreamIdentifier().setStreamName(Buffer.from(stream)));
    fill(response);
    this.#call.write(response);
  }

  #refuse(correlation: string, stream: string, error: unknown): void {
    const refusal = error instanceof CallError ? batchStatus(error.failure) : null;
    if (refusal === null) this.#fail(error);
    else this.#answer(correlation, stream, (response) => response.setError(refusal));
  }

  #fail(error: unknown): void {
    if (this.#isOver) return;
    this.leave();
    this.#call.emit("error", asCallError(error));
  }
}

const nullReference: Failure = {
  kind: "status",
  code: status.UNKNOWN,
  details:
    "Exception was thrown by handler. NullReferenceException: Object reference not set to an instance of an object.",
};

const isRejectedMessage = ({ kind }: Failure): boolean => kind === "bad-request" || kind === "missing-metadata";

/** The deadline travels as a time of day, so the clocks' difference counts. */
function remainingMs(node: NodeContext, options: Options): number {
  const deadline = options.getDeadline();
  if (deadline === undefined) return Number.POSITIVE_INFINITY;
  return deadline.getSeconds() * 1000 + deadline.getNanos() / 1e6 - node.log.options.now();
}

function fillOutcome(response: Response, { stream, expected }: PendingAppend, outcome: SettledOutcome): void {
  if (outcome.status !== "appended") {
    const failure: Failure =
      outcome.status === "deleted"
        ? { kind: "deleted", stream }
        : { kind: "wrong-version", stream, expected, actual: outcome.actual };
    response.setError(batchStatus(failure) ?? undefined);
    return;
  }
  const success = outcome.revision < 0n ? ofNoStream() : new streams.BatchAppendResp.Success();
  if (outcome.revision >= 0n) success.setCurrentRevision(outcome.revision.toString());
  const { position } = outcome;
  const place = new shared.AllStreamPosition();
  if (position !== null) success.setPosition(place.setCommitPosition(`${position}`).setPreparePosition(`${position}`));
  response.setSuccess(success);
}

/** An append of nothing to nothing: field 2, `no_stream`, is set and empty. */
const ofNoStream = () => streams.BatchAppendResp.Success.deserializeBinary(Buffer.from([0x12, 0]));
