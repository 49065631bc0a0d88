import type { Masked } from "./secret-spans.ts";

/** The most recent of credentials that expire, to be masked. */
export type RememberedKeys = {
  /** Adds keys; returns a new list only if one was new. */
  readonly with: (used: Masked) => Masked;
};

export function rememberedKeys(): RememberedKeys {
  let all: Masked = [];
  const isKnown = ({ name, value }: Masked[number]): boolean =>
    all.some((known) => known.name === name && known.value === value);
  return {
    with(used) {
      const news = used.filter((each) => !isKnown(each));
      if (news.length > 0) all = [...news, ...all].slice(0, maxGiven + used.length);
      return all;
    },
  };
}

/** An answer may repeat the key of an earlier request. */
const maxGiven = 32;
