import type { BatchAppendReq, Driver, ReadReq } from "./driver.ts";
import type { ServerEvent } from "./envelope.ts";
import { parsePosition } from "./position.ts";

export type StreamRange = {
  readonly name: string;
  /** The first revision, given itself in both directions; `end` is the last one. */
  readonly from: number | "end";
  readonly direction: "forwards" | "backwards";
  readonly count: number;
};

export type LogRange = {
  /** It begins after this position; at the beginning of the log when null. */
  readonly from: string | null;
  /** What the names of streams have to match. */
  readonly pattern: string;
};

/** Makes the messages that ask the server. */
export type Requests = ReturnType<typeof createRequests>;

export function createRequests({ streams, shared }: Driver) {
  const { ReadReq, BatchAppendReq } = streams;
  const { Options } = ReadReq;
  const { ReadDirection } = Options;
  const empty = new shared.Empty();
  const identifier = (name: string) => new shared.StreamIdentifier().setStreamName(encoder.encode(name));
  const options = () => new Options().setUuidOption(new Options.UUIDOption().setString(empty));

  return {
    readStream({ name, from, direction, count }: StreamRange): ReadReq {
      const stream = new Options.StreamOptions().setStreamIdentifier(identifier(name));
      if (from === "end") stream.setEnd(empty);
      else stream.setRevision(String(from));
      const asked = options().setStream(stream).setNoFilter(empty).setCount(countText(count));
      return new ReadReq().setOptions(
        asked.setReadDirection(direction === "forwards" ? ReadDirection.FORWARDS : ReadDirection.BACKWARDS),
      );
    },
    /** The newest event of the whole log. */
    endOfLog: (): ReadReq =>
      new ReadReq().setOptions(
        options()
          .setAll(new Options.AllOptions().setEnd(empty))
          .setNoFilter(empty)
          .setCount("1")
          .setReadDirection(ReadDirection.BACKWARDS),
      ),

    /**
     * The events of the log, and from the end on those that come. A read with a filter would say nothing until something
     * matches; a subscription says where it is every so many events, so that a long search can be taken up again.
     */
    subscribe({ from, pattern }: LogRange): ReadReq {
      const all = new Options.AllOptions();
      if (from === null) all.setStart(empty);
      else {
        const { commit, prepare } = parsePosition(from);
        all.setPosition(new Options.Position().setCommitPosition(commit).setPreparePosition(prepare));
      }
      const expression = new Options.FilterOptions.Expression().setRegex(pattern);
      const filter = new Options.FilterOptions().setStreamIdentifier(expression);
      filter.setMax(searchWindow).setCheckpointintervalmultiplier(1);
      return new ReadReq().setOptions(
        options().setAll(all).setFilter(filter).setSubscription(new Options.SubscriptionOptions()),
      );
    },

    /** All or nothing, and only at an explicit revision: anything else may be written twice. */
    append(name: string, expected: number | null, events: readonly ServerEvent[]): BatchAppendReq {
      // Without a deadline the server's own limit for a write holds; a deadline would be compared with its clock.
      const place = new BatchAppendReq.Options().setStreamIdentifier(identifier(name));
      // The message of nothing has two classes, one wire form.
      // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- as above; the client does so too
      if (expected === null) place.setNoStream(empty);
      else place.setStreamPosition(String(expected));
      const messages = events.map(({ id, type, data, metadata }) => {
        const message = new BatchAppendReq.ProposedMessage().setId(new shared.UUID().setString(id));
        message.getMetadataMap().set("type", type).set("content-type", "application/json");
        return message.setData(data).setCustomMetadata(metadata);
      });
      return new BatchAppendReq().setOptions(place).setProposedMessagesList(messages).setIsFinal(true);
    },
  };
}

const encoder = new TextEncoder();

const countText = (count: number): string => String(Math.min(count, Number.MAX_SAFE_INTEGER));

/** Events that a filter looks at before it says where it is. */
const searchWindow = 4_096;
