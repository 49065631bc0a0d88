/** What a `$metadata` event says about the stream it belongs to. */
export interface StreamMetadata {
  readonly maxCount: number | null;
  readonly maxAgeSeconds: number | null;
  /** First revision that is still shown. */
  readonly truncateBefore: bigint;
  readonly isSoftDeleted: boolean;
  /** The JSON as written. `$tb` of a soft deletion has lost its last digit in it. */
  readonly raw: Readonly<Record<string, unknown>>;
}

/** A stored event, which is never changed: what was parsed once holds. */
interface MetadataEvent {
  readonly data: Uint8Array;
}

const parsed = new WeakMap<MetadataEvent, StreamMetadata>();
const none: StreamMetadata = { maxCount: null, maxAgeSeconds: null, truncateBefore: 0n, isSoftDeleted: false, raw: {} };

/** Reads the newest event of a metadata stream; foreign or broken JSON means no metadata, as on the real server. */
export function metadataOf(event: MetadataEvent | undefined): StreamMetadata {
  if (event === undefined) return none;
  const known = parsed.get(event);
  if (known !== undefined) return known;
  const metadata = parse(Buffer.from(event.data).toString("utf8"));
  parsed.set(event, metadata);
  return metadata;
}

function parse(text: string): StreamMetadata {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return none;
  }
  if (typeof value !== "object" || value === null) return none;
  const raw = Object.fromEntries(Object.entries(value));
  const truncateBefore = integer(raw["$tb"]) ?? 0;
  return {
    maxCount: integer(raw["$maxCount"]),
    maxAgeSeconds: integer(raw["$maxAge"]),
    truncateBefore: BigInt(truncateBefore),
    // 2^63 - 1 is read as 2^63: no other value comes near.
    isSoftDeleted: truncateBefore >= 2 ** 63,
    raw,
  };
}

const integer = (value: unknown): number | null =>
  typeof value === "number" && Number.isInteger(value) ? value : null;
