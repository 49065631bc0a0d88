import type { Codec } from "../../../src/engine/ports/codec.ts";

const known = new Map<string, Codec>();

/** In the place of the released codecs: those that the conversations of this page were sent with. */
export const codecs: ReadonlyMap<string, Codec> = known;

export function addCodecs(added: readonly Codec[]): void {
  for (const codec of added) known.set(codec.name, codec);
}

export const codecsWith = (others: readonly Codec[]): ReadonlyMap<string, Codec> =>
  new Map([...known, ...others.map((codec) => [codec.name, codec] as const)]);
