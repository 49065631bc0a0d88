import * as z from "zod";
import { canonicalJson } from "../../base/canonical-json.ts";
import { err, ok, type Result } from "../../base/result.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { type Actor, actorSchema } from "../../domain/actor.ts";
import { sha256Schema } from "../../domain/ids.ts";
import type { Envelope, EventStore, Head, StoredEnvelope } from "../ports/event-store.ts";
import { linesDigest } from "./lines.ts";

/** The schema of an envelope from outside. `cat` also uses it to show the members of a damaged one. */
export const envelopeSchema = z.strictObject({
  id: z.string(),
  stream: z.string(),
  revision: z.int().nonnegative(),
  type: z.string(),
  version: z.int(),
  at: z.string(),
  actor: actorSchema,
  runId: z.exactOptional(z.string()),
  frame: z.exactOptional(z.string()),
  causationId: z.exactOptional(z.string()),
  tenant: z.exactOptional(z.string()),
  keyId: z.exactOptional(z.string()),
  nonce: z.exactOptional(z.string()),
  encoding: z.enum(["json", "lines"]),
  data: z.string(),
  dataDigest: sha256Schema,
  digest: sha256Schema,
});

/** The members of an envelope that its digest covers; `data` is covered through its own digest. */
export type HashedEnvelope = Omit<Envelope, "data" | "digest">;

/** The digest that chains an event to everything before it in its stream. */
export const chainDigest = (previous: string, envelope: HashedEnvelope): string =>
  sha256Hex(chainText(previous, envelope));

/** The text that `chainDigest` hashes. */
export const chainText = (previous: string, envelope: HashedEnvelope): string =>
  `turnlog/event/v1\n${previous}\n${canonicalText(envelope)}`;

/** The digest of an event's data. Erasing lines of it does not change the digest. */
export const dataDigestOf = ({ encoding, data }: Pick<Envelope, "encoding" | "data">): string =>
  encoding === "lines" ? linesDigest(data) : sha256Hex(data);

/**
 * The digest of what a store holds of an event, whether or not that is what was written. An event in lines counts by their
 * commitments: one that was skipped stays skipped when lines of it are erased.
 */
export function foundDigest(envelope: Envelope | StoredEnvelope): string {
  const { position: _, ...held } = { position: "", ...envelope };
  return sha256Hex(canonicalJson(held.encoding === "lines" ? { ...held, data: linesDigest(held.data) } : held));
}

/** The previous digest of a stream's first event. */
export const firstPrevious = (stream: string): string => sha256Hex(`turnlog/stream/v1\n${stream}`);

/** Checks that an event was written after `previous`. Returns the new head, or what is wrong with the event. */
export function checkEnvelope(previous: Head | null, envelope: Envelope): Result<Head, { readonly reason: string }> {
  const due = previous === null ? 0 : previous.revision + 1;
  if (envelope.revision !== due) return err({ reason: `revision ${envelope.revision} stands where ${due} is due` });
  if (dataDigestOf(envelope) !== envelope.dataDigest) return err({ reason: "its data is not what was written" });
  const digest = chainDigest(previous?.digest ?? firstPrevious(envelope.stream), envelope);
  if (digest !== envelope.digest)
    return err({ reason: "its digest does not follow from its envelope and what is before it" });
  return ok({ revision: envelope.revision, digest });
}

/** An event that differs from what was written there, and why. */
type BrokenEvent = { readonly envelope: StoredEnvelope; readonly reason: string };

type BreakOptions = {
  /** The last revision to check. */
  readonly to?: number;
  /** Whether an operator has examined an event that differs from what was written: the next event then follows from its stored digest. */
  readonly isKnown?: (envelope: StoredEnvelope) => Promise<boolean>;
};

/** The first event of a stream, up to a revision, that differs from what was written. Folds may still read it: they do not verify. */
export async function firstBreak(
  store: EventStore,
  stream: string,
  { to, isKnown = async () => false }: BreakOptions = {},
): Promise<BrokenEvent | null> {
  let head: Head | null = null;
  for await (const envelope of store.readStream(stream, to === undefined ? {} : { limit: to + 1 })) {
    const checked = checkEnvelope(head, envelope);
    if (!checked.ok && !(await isKnown(envelope))) return { envelope, reason: checked.error.reason };
    head = { revision: envelope.revision, digest: envelope.digest };
  }
  return null;
}

/**
 * `canonicalJson` of the hashed members. They are listed here in its order, so that one call writes them. `actor` is the
 * first of them, and the only nested one.
 */
function canonicalText(envelope: HashedEnvelope): string {
  const rest = JSON.stringify({
    at: envelope.at,
    causationId: envelope.causationId,
    dataDigest: envelope.dataDigest,
    encoding: envelope.encoding,
    frame: envelope.frame,
    id: envelope.id,
    keyId: envelope.keyId,
    nonce: envelope.nonce,
    revision: envelope.revision,
    runId: envelope.runId,
    stream: envelope.stream,
    tenant: envelope.tenant,
    type: envelope.type,
    version: envelope.version,
  });
  return `{"actor":${canonicalActor(envelope.actor)},${rest.slice(1)}`;
}

/** How many actors to cache: a conversation has few writers, but a layer counts once per frame. */
const maxActors = 256;
const canonicalByJson = new Map<string, string>();

/** `canonicalJson` of an actor. Its members are sorted once, not for each of its events. */
function canonicalActor(actor: Actor): string {
  const json = JSON.stringify(actor);
  const known = canonicalByJson.get(json);
  if (known !== undefined) return known;
  const text = canonicalJson(actor);
  if (canonicalByJson.size === maxActors) canonicalByJson.clear();
  canonicalByJson.set(json, text);
  return text;
}
