import type { Masked } from "./secret-spans.ts";

/** Credentials that do not last: the newest of them, to be masked. */
export type RememberedKeys = {
  /** Remembers these too; another list only once there is another. */
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

/** An answer may repeat the key of a request that was sent a while ago. */
const maxGiven = 32;
