import { type Sha256, sha256OfPair } from "../base/sha256.ts";
import type { BlockName } from "./ids.ts";

/**
 * The names under which a conversation and its forks record their blocks (rule: Equal blocks). Equal blocks have one name. In a conversation in
 * lines a name is keyed, because the digest of a short text gives the text away: it is found by trying all that the text may be.
 */
export type BlockNames = {
  /** The name of the blocks with this digest. */
  nameOf(digest: string): BlockName;
  /** The key is lost, so a recorded name may be another than `nameOf` gives. */
  readonly isLost?: true;
  /** Called with each recorded block that is read, if names have to be known from those. */
  note?(block: { readonly digest: string; readonly recordedAs: BlockName }): void;
};

/** In conversations written as `json`, a block is recorded under its digest. */
// The only place where a digest becomes a name as it is.
export const plainNames: BlockNames = { nameOf: (digest) => digest as BlockName };

/** @param key - 64 hexadecimal digits, random. */
export const keyedNames = (key: string): BlockNames => ({ nameOf: (digest) => keyed(key, digest) });

/**
 * The names in a conversation whose key is lost. Blocks that equal one that was read have its recorded name; all others have a name by a
 * fresh key, so layers that write an old block anew may cost a whole request.
 */
export function survivingNames(freshKey: string): BlockNames {
  const nameByDigest = new Map<Sha256, BlockName>();
  // Hashed only if a name is asked for, because few readers ask.
  let unhashed: { readonly digest: Sha256; readonly recordedAs: BlockName }[] = [];
  return {
    isLost: true,
    note(block) {
      unhashed.push(block);
    },
    nameOf(digest) {
      const blocks = unhashed;
      unhashed = [];
      for (const block of blocks) {
        if (!nameByDigest.has(block.digest)) nameByDigest.set(block.digest, block.recordedAs);
      }
      return nameByDigest.get(digest) ?? keyed(freshKey, digest);
    },
  };
}

/**
 * The name of a block that folds make and that no event holds, so it may not depend on a key, which can be lost. It gives nothing away: such
 * blocks have no content of a conversation.
 */
export const nameWithoutKey = (names: BlockNames, digest: Sha256): BlockName =>
  names === plainNames ? plainNames.nameOf(digest) : keyed(withoutKey, digest);

/** sha256 of `turnlog/block-without-key/v1`. A literal, so that loading the module hashes nothing. */
const withoutKey = "2573ee69c7930b1a1a0e22401fa2649eecc064b04409c200337a2770986bf5f0";

// A hash of key and digest is what a name is made of.
const keyed = (key: string, digest: Sha256): BlockName => sha256OfPair(key, digest) as BlockName;
