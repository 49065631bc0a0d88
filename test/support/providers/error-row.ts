import type { JsonValue } from "../../../src/base/json.ts";

/** A failed answer, and what it means. */
export type Row = {
  readonly of: string;
  /** The name under which the reference server knows it; what it says after ` ...` is its own. */
  readonly judge?: string;
  readonly status?: number;
  readonly body: JsonValue;
  readonly kind: string;
  readonly outcome?: "rejected" | "unknown";
};

/** The usual envelope. */
export const error = (
  message: string,
  fields: { readonly code?: string | number | null; readonly param?: string | null; readonly type?: string } = {},
) => ({
  error: { message, type: "invalid_request_error", param: null, code: null, ...fields },
});
