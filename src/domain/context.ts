import { sha256OfPair } from "../base/sha256.ts";
import type { BlockName } from "./ids.ts";

/** The digest of the empty context, sha256 of `turnlog/context/v1`. A literal, so that loading the module hashes nothing. */
export const emptyContext: string = "a41e65e4090d97f54aae22e652b6888806b0441df8bb1ad1fe01b10d1f2519a3";

/** The digest of a context with one more block at its end. */
export const extendContext: (context: string, name: BlockName) => string = sha256OfPair;
