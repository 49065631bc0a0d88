import {
  type AllStreamResolvedEvent,
  type AppendExpectedRevision,
  type EventData,
  EventStoreDBClient,
  jsonEvent,
  type ResolvedEvent,
} from "@eventstore/db-client";

/** The real client, without anything of turnlog around it: what these tests ask the server with. */
export interface BareClient extends AsyncDisposable {
  readonly client: EventStoreDBClient;
  /** Appends on the way named: the classic one is what the client takes when credentials come with the call. */
  append(stream: string, events: EventData[], expectedRevision?: AppendExpectedRevision): Promise<Appended>;
}

interface Appended {
  readonly nextExpectedRevision: bigint;
  readonly position?: { readonly commit: bigint; readonly prepare: bigint } | undefined;
}

export type AppendPath = "batch" | "classic";

export const appendPaths: readonly AppendPath[] = ["batch", "classic"];

/** `deadlineMs` is the client's default deadline, which only the classic way of appending enforces. */
export function connect(connectionString: string, path: AppendPath = "batch", deadlineMs = 10_000): BareClient {
  const client = EventStoreDBClient.connectionString(`${connectionString}&defaultDeadline=${deadlineMs}`);
  const credentials = path === "classic" ? { credentials: { username: "admin", password: "changeit" } } : {};
  return {
    client,
    append: (stream, events, expectedRevision = "any") =>
      client.appendToStream(stream, events, { expectedRevision, ...credentials }),
    [Symbol.asyncDispose]: () => client.dispose(),
  };
}

/** So many events with fresh ids and numbered types. */
export const someEvents = (count: number, type = "Happened"): EventData[] =>
  Array.from({ length: count }, (_, index) => jsonEvent({ type: `${type}${index}`, data: { index } }));

/** All that a read gives; a read that ends by itself needs no cancelling. */
export async function collect<T>(events: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const event of events) all.push(event);
  return all;
}

export const typesOf = (events: readonly (ResolvedEvent | AllStreamResolvedEvent)[]): string[] =>
  events.map(({ event }) => event?.type ?? "");

export const revisionsOf = (events: readonly (ResolvedEvent | AllStreamResolvedEvent)[]): bigint[] =>
  events.map(({ event }) => event?.revision ?? -1n);
