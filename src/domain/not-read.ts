import { TurnlogError } from "../base/turnlog-error.ts";

/** @throws {TurnlogError} `content-not-read`, always. */
export function notRead(): never {
  throw new TurnlogError(
    "content-not-read",
    "only the ids and digests of these blocks were read: read their contents first",
  );
}
