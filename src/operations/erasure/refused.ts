import { TurnlogError } from "../../base/turnlog-error.ts";

/** Nothing was erased, and the message says why. */
export const refused = (message: string): TurnlogError => new TurnlogError("erasure-refused", message);
