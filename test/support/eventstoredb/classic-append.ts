import type { ServerReadableStream, ServerUnaryCall, sendUnaryData } from "@grpc/grpc-js";
import type { AppendOutcome, ExpectedRevision, ProposedEvent } from "./event-log.ts";
import { asCallError, CallError } from "./failures.ts";
import { act, admit, type NodeContext } from "./node-context.ts";
import { expectedOf, proposedEvent, sizeOnDisk, streamName } from "./proposed.ts";
import { shared, streams } from "./protocol.ts";
import { replicated, type SettledOutcome } from "./replication.ts";

type AppendRequest = InstanceType<typeof streams.AppendReq>;
type AppendResponse = InstanceType<typeof streams.AppendResp>;
type DeleteRequest = InstanceType<typeof streams.DeleteReq>;
type DeleteResponse = InstanceType<typeof streams.DeleteResp>;
type TombstoneRequest = InstanceType<typeof streams.TombstoneReq>;
type TombstoneResponse = InstanceType<typeof streams.TombstoneResp>;

/** `Streams/Append`: the options, then one message an event; one answer when the client has finished. */
export function serveAppend(
  node: NodeContext,
  call: ServerReadableStream<AppendRequest, AppendResponse>,
  callback: sendUnaryData<AppendResponse>,
): void {
  let handle = node.calls.open("append", "");
  call.on("cancelled", () => handle.close());
  const settle = async (): Promise<AppendResponse | null> => {
    const messages = call.iterator({ destroyOnReturn: false });
    const first: unknown = (await messages.next()).value;
    const options = first instanceof streams.AppendReq ? first.getOptions() : undefined;
    if (options === undefined)
      throw new CallError({ kind: "bad-request", message: "An append begins with its options." });
    const stream = streamName(options.getStreamIdentifier());
    handle.close();
    handle = node.calls.open("append", stream);
    admit(node, call.metadata, { operation: "append", stream, path: "classic" });
    const fault = node.faults.take("append", stream);
    const when = fault?.fault.when ?? "before";
    if (fault !== null && when === "first-chunk" && !(await act(node, fault))) return null;
    const events = await proposedEvents(messages, node);
    if (fault !== null && when === "before" && !(await act(node, fault))) return null;
    if (call.cancelled) return null;
    const expected = expectedOf(options, options.hasRevision() ? options.getRevision() : null);
    const outcome = await replicated(node, node.log.append(stream, expected, events));
    if (fault !== null && when === "after" && !(await act(node, fault))) return null;
    return appendResponse(stream, expected, outcome);
  };
  settle().then(
    (response) => {
      // Null: nothing is ever said, and the call stays open until the client gives up.
      if (response === null) return;
      handle.close();
      callback(null, response);
    },
    (error: unknown) => {
      handle.close();
      callback(asCallError(error));
    },
  );
}

async function proposedEvents(messages: AsyncIterable<unknown>, node: NodeContext): Promise<ProposedEvent[]> {
  const { maxAppendBytes: maxBytes, unkindness } = node;
  const events: ProposedEvent[] = [];
  let bytes = 0;
  for await (const message of messages) {
    const proposed = message instanceof streams.AppendReq ? message.getProposedMessage() : undefined;
    if (proposed === undefined) throw new CallError({ kind: "bad-request", message: "Options came twice." });
    const event = proposedEvent(proposed);
    bytes += sizeOnDisk(event, unkindness.countedBytes);
    if (bytes > maxBytes) throw new CallError({ kind: "too-large", maxBytes });
    events.push(event);
  }
  return events;
}

/** A wrong revision is an answer here, not an error; the fields that end in 2060 are for clients before 20.6.1. */
function appendResponse(stream: string, expected: ExpectedRevision, outcome: SettledOutcome): AppendResponse {
  if (outcome.status === "deleted") throw new CallError({ kind: "deleted", stream });
  const response = new streams.AppendResp();
  if (outcome.status === "appended") {
    const { position } = outcome;
    const place = new streams.AppendResp.Position();
    const success = new streams.AppendResp.Success();
    if (position === null) success.setNoPosition(new shared.Empty());
    else success.setPosition(place.setCommitPosition(`${position}`).setPreparePosition(`${position}`));
    if (outcome.revision < 0n) success.setNoStream(new shared.Empty());
    else success.setCurrentRevision(outcome.revision.toString());
    return response.setSuccess(success);
  }
  const wrong = new streams.AppendResp.WrongExpectedVersion();
  if (outcome.actual < 0n) wrong.setCurrentNoStream(new shared.Empty());
  else wrong.setCurrentRevision(outcome.actual.toString());
  if (expected === "any") wrong.setExpectedAny(new shared.Empty());
  else if (expected === "no_stream") wrong.setExpectedNoStream(new shared.Empty());
  else if (expected === "stream_exists") wrong.setExpectedStreamExists(new shared.Empty());
  else wrong.setExpectedRevision(expected.toString());
  return response.setWrongExpectedVersion(wrong);
}

/** `Streams/Delete`: hides the stream until it is written to again. */
export function serveDelete(
  node: NodeContext,
  call: ServerUnaryCall<DeleteRequest, DeleteResponse>,
  callback: sendUnaryData<DeleteResponse>,
): void {
  const options = call.request.getOptions();
  const stream = streamName(options?.getStreamIdentifier());
  const expected =
    options === undefined ? "any" : expectedOf(options, options.hasRevision() ? options.getRevision() : null);
  remove(node, { call, stream, expected }, () => node.log.softDelete(stream, expected)).then(
    (place) => {
      const position = new streams.DeleteResp.Position().setCommitPosition(place).setPreparePosition(place);
      callback(null, new streams.DeleteResp().setPosition(position));
    },
    (error: unknown) => callback(asCallError(error)),
  );
}

/** `Streams/Tombstone`: ends the stream for ever. */
export function serveTombstone(
  node: NodeContext,
  call: ServerUnaryCall<TombstoneRequest, TombstoneResponse>,
  callback: sendUnaryData<TombstoneResponse>,
): void {
  const options = call.request.getOptions();
  const stream = streamName(options?.getStreamIdentifier());
  const expected =
    options === undefined ? "any" : expectedOf(options, options.hasRevision() ? options.getRevision() : null);
  remove(node, { call, stream, expected }, () => node.log.tombstone(stream, expected)).then(
    (place) => {
      const position = new streams.TombstoneResp.Position().setCommitPosition(place).setPreparePosition(place);
      callback(null, new streams.TombstoneResp().setPosition(position));
    },
    (error: unknown) => callback(asCallError(error)),
  );
}

/** The position of a deletion, in decimal digits. */
async function remove(
  node: NodeContext,
  target: {
    readonly call: ServerUnaryCall<unknown, unknown>;
    readonly stream: string;
    readonly expected: ExpectedRevision;
  },
  write: () => AppendOutcome,
): Promise<string> {
  const { call, stream, expected } = target;
  admit(node, call.metadata, { operation: "delete", stream });
  const fault = node.faults.take("delete", stream);
  const when = fault?.fault.when ?? "before";
  if (fault !== null && when === "before" && !(await act(node, fault))) return new Promise(() => {});
  const outcome = await replicated(node, write());
  if (fault !== null && when === "after" && !(await act(node, fault))) return new Promise(() => {});
  if (outcome.status === "deleted") throw new CallError({ kind: "deleted", stream });
  if (outcome.status === "wrong-version") {
    throw new CallError({ kind: "wrong-version", stream, expected, actual: outcome.actual });
  }
  return String(outcome.position);
}
