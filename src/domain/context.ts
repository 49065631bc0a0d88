import { sha256Hex, sha256OfPair } from "../base/sha256.ts";

/** The digest of the empty context; it names the versions of context and essence. */
export const emptyContext: string = sha256Hex("turnlog/context/v1");

/** The digest of a context with one more block at its end. */
export const extendContext: (context: string, blockDigest: string) => string = sha256OfPair;
