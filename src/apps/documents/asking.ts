import * as z from "zod";
import { conversation, list, waiting } from "./parts.ts";

/** `turnlog run`, and each answer of `turnlog chat` */
export const runDocument = z.strictObject({
  conversation,
  runId: z.string(),
  /** `calls-open`: the model called tools that the engine does not run; `incomplete`: the answer broke off; `parked`: see `waitingFor`. */
  status: z.enum(["completed", "calls-open", "incomplete", "parked", "failed", "cancelled"]),
  /** False if nothing was unanswered: this is the recorded answer. */
  isNew: z.boolean(),
  /** The last answer. */
  text: z.string(),
  waitingFor: list(waiting),
  error: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
});
