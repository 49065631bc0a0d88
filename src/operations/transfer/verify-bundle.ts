import * as z from "zod";
import { isJsonObject } from "../../base/json.ts";
import { linesOf } from "../../base/lines.ts";
import { checkFunction } from "../../base/options.ts";
import { err, ok } from "../../base/result.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import { type Actor, actorSchema } from "../../domain/actor.ts";
import { chainDigest, checkEnvelope, envelopeSchema, firstPrevious } from "../../log/codec/envelope.ts";
import { type BundleHeader, readBundleHeader, readEvents } from "./bundle.ts";
import { createSourceCheck, type EnvelopeCheck } from "./copy-source.ts";

/** A bundle that is what was written, to its end. */
export type VerifiedBundle = {
  /** The store that it came from. */
  readonly storeId: string;
  readonly isRedacted: boolean;
  /** Each stream's newest event. */
  readonly heads: readonly { readonly stream: string; readonly revision: number; readonly digest: string }[];
  readonly events: number;
  /** Of a redacted bundle: events in `json`, whose texts cannot be checked against their digests. */
  readonly unchecked: number;
};

/**
 * Checks a bundle from its first line to its last one, without a store: each event follows from the one before it, to the heads that the first line
 * names. Of events in lines, a redacted bundle has the facts and the commitments, so it is checked like a whole one.
 *
 * @param read - Returns the bundle's text from its beginning, in pieces of any size, each time it is called.
 * @throws {TurnlogError} `bundle-unusable` if the text is not a bundle.
 * @throws {StoreCorruptedError} if it was cut or changed; the message names the line.
 */
export async function verifyBundle(read: () => AsyncIterable<string>): Promise<VerifiedBundle> {
  checkFunction("verifyBundle: what reads the bundle", read);
  const header = await headerOf(linesOf(read()));
  const { storeId, isRedacted, heads } = header;
  let [events, unchecked] = [0, 0];
  const check: EnvelopeCheck = (before, envelope) => {
    if (!isRedacted || envelope.encoding === "lines") return checkEnvelope(before, envelope);
    unchecked += 1;
    return checkWithoutTexts(before, envelope);
  };
  const due = heads.map(({ stream, revision, digest }) => ({ stream, head: { revision, digest } }));
  // Of a redacted event no reader knows which long texts it names.
  const source = createSourceCheck(due, isRedacted ? { check, blobs: () => [] } : { check });
  for await (const _ of readEvents(linesOf(read()), {
    read: isRedacted ? redactedSchema : envelopeSchema,
    check: source,
    consequence: "",
  }))
    events += 1;
  return { storeId, isRedacted, heads, events, unchecked };
}

async function headerOf(lines: AsyncIterable<string>): Promise<BundleHeader> {
  for await (const line of lines) {
    const header = readBundleHeader(line);
    if (header !== null) return header;
    break;
  }
  throw new TurnlogError(
    "bundle-unusable",
    "verifyBundle: this text is no bundle: give one that exportBundle or `turnlog export` wrote",
  );
}

/**
 * Checks the place of an event in `json` without its texts. If the name of its author is hidden, too, the digest that it states is taken as it
 * is.
 */
const checkWithoutTexts: EnvelopeCheck = (before, envelope) => {
  const due = before === null ? 0 : before.revision + 1;
  const { stream, revision, digest } = envelope;
  if (revision !== due) return err({ reason: `revision ${revision} stands where ${due} is due` });
  const isWhole = actorSchema.safeParse(envelope.actor).success;
  if (isWhole && chainDigest(before?.digest ?? firstPrevious(stream), envelope) !== digest)
    return err({ reason: "its digest does not follow from its envelope and what is before it" });
  return ok({ revision, digest });
};

/** The name of a person in the envelope of a `json` event is hidden. */
const redactedSchema = envelopeSchema.extend({
  actor: z.custom<Actor>((value) => actorSchema.safeParse(value).success || (isJsonObject(value) && "kind" in value)),
});
