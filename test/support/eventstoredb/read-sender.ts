import { setTimeout as sleep } from "node:timers/promises";
import type { ServerWritableStream } from "@grpc/grpc-js";
import type { CallHandle } from "./calls.ts";
import type { StoredEvent } from "./event-log.ts";
import { asCallError } from "./failures.ts";
import type { ArmedFault } from "./faults.ts";
import { act, demandRole, type NodeContext } from "./node-context.ts";
import { shared, streams } from "./protocol.ts";

export type ReadRequest = InstanceType<typeof streams.ReadReq>;
export type ReadResponse = InstanceType<typeof streams.ReadResp>;

/** A place in `$all`. It need not be that of an event. */
export interface Position {
  readonly commit: bigint;
  readonly prepare: bigint;
}

/** The reader has gone: the handler stops, and nobody is told. */
class ReaderGone extends Error {
  override readonly name = "ReaderGone";
}
// One for all readers, because every call ends with it, and making an error costs as much as a call.
const readerGone = new ReaderGone();

/** One reader's call: writes as fast as the reader takes, counts events, and lets a fault strike where it is due. */
export class ReadSender {
  readonly #node: NodeContext;
  readonly #call: ServerWritableStream<ReadRequest, ReadResponse>;
  readonly #handle: CallHandle;
  readonly #fault: ArmedFault | null;
  readonly #gone = Promise.withResolvers<never>();
  #sent = 0;

  constructor(
    node: NodeContext,
    call: ServerWritableStream<ReadRequest, ReadResponse>,
    { operation, stream }: { readonly operation: "read" | "subscribe"; readonly stream: string },
  ) {
    this.#node = node;
    this.#call = call;
    this.#handle = node.calls.open(operation, stream);
    this.#fault = node.faults.take(operation, stream);
    // Rejected while nobody waits, it must not count as unhandled.
    this.#gone.promise.catch(() => {});
    for (const event of ["cancelled", "close", "error"]) call.on(event, () => this.#leave());
    if (call.cancelled) this.#leave();
  }

  /** Settles as the promise does, unless the reader goes first. */
  orGone<T>(promise: Promise<T>): Promise<T> {
    return Promise.race([promise, this.#gone.promise]);
  }

  /** To be called once, before anything is sent: a fault after no event strikes here. */
  async begin(): Promise<void> {
    await this.#strikeAt(0);
  }

  /**
   * To be called before every page: what is live is not asked any more.
   *
   * @throws {CallError} when the node is not what the call demands.
   */
  page(): void {
    demandRole(this.#node, this.#call.metadata);
  }

  /** The time that a filter takes for so many events. */
  async search(events: number): Promise<void> {
    const { searchMs } = this.#node.unkindness;
    if (searchMs > 0) await this.orGone(sleep((events * searchMs) / 1000));
  }

  async event(event: StoredEvent): Promise<void> {
    await this.send(new streams.ReadResp().setEvent(readEvent(event)));
    this.#sent += 1;
    this.#handle.sent();
    await this.#strikeAt(this.#sent);
  }

  async confirmation(id: string): Promise<void> {
    const confirmation = new streams.ReadResp.SubscriptionConfirmation().setSubscriptionId(id);
    await this.send(new streams.ReadResp().setConfirmation(confirmation));
  }

  async checkpoint({ commit, prepare }: Position): Promise<void> {
    const checkpoint = new streams.ReadResp.Checkpoint()
      .setCommitPosition(`${commit}`)
      .setPreparePosition(`${prepare}`);
    await this.send(new streams.ReadResp().setCheckpoint(checkpoint));
  }

  async caughtUp(): Promise<void> {
    await this.send(new streams.ReadResp().setCaughtUp(new streams.ReadResp.CaughtUp()));
  }

  /** A missing stream is told as a message, not as an error. */
  async streamNotFound(stream: string): Promise<void> {
    const identifier = new shared.StreamIdentifier().setStreamName(Buffer.from(stream));
    const notFound = new streams.ReadResp.StreamNotFound().setStreamIdentifier(identifier);
    await this.send(new streams.ReadResp().setStreamNotFound(notFound));
  }

  /** Resolves when the transport has room for more. */
  async send(response: ReadResponse): Promise<void> {
    if (this.#call.cancelled) throw readerGone;
    const isFull = !this.#call.write(response);
    if (!isFull) return;
    const drained = Promise.withResolvers<undefined>();
    const drain = (): void => drained.resolve(undefined);
    this.#call.once("drain", drain);
    const { stalledReaderMs } = this.#node.unkindness;
    const drop = (): void => this.#node.dropConnection(this.#call.getPeer());
    const timer = stalledReaderMs === null ? undefined : setTimeout(drop, stalledReaderMs);
    await this.orGone(drained.promise).finally(() => {
      clearTimeout(timer);
      this.#call.off("drain", drain);
    });
  }

  /** Says nothing more, until the reader goes. */
  silence(): Promise<never> {
    return this.#gone.promise;
  }

  end(): void {
    this.#leave();
    this.#call.end();
  }

  fail(error: unknown): void {
    this.#leave();
    if (error === readerGone) return;
    this.#call.emit("error", asCallError(error));
  }

  async #strikeAt(sent: number): Promise<void> {
    if (this.#fault === null || (this.#fault.fault.afterEvents ?? 0) !== sent) return;
    const goesOn = await this.orGone(act(this.#node, this.#fault));
    if (!goesOn) await this.#gone.promise;
  }

  #leave(): void {
    this.#handle.close();
    this.#gone.reject(readerGone);
  }
}

const TICKS_PER_MILLISECOND = 10_000n;

function readEvent(event: StoredEvent): InstanceType<typeof streams.ReadResp.ReadEvent> {
  const position = event.position.toString();
  const recorded = new streams.ReadResp.ReadEvent.RecordedEvent();
  recorded.setId(new shared.UUID().setString(event.id));
  recorded.setStreamIdentifier(new shared.StreamIdentifier().setStreamName(Buffer.from(event.stream)));
  recorded.setStreamRevision(event.revision.toString());
  recorded.setCommitPosition(position).setPreparePosition(position);
  recorded.setData(event.data).setCustomMetadata(event.metadata);
  const properties = recorded.getMetadataMap();
  properties.set("type", event.type);
  properties.set("content-type", event.isJson ? "application/json" : "application/octet-stream");
  properties.set("created", (BigInt(Math.trunc(event.createdMs)) * TICKS_PER_MILLISECOND).toString());
  return new streams.ReadResp.ReadEvent().setEvent(recorded).setCommitPosition(position);
}
