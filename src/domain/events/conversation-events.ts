import * as z from "zod";
import { blockJsonSchema } from "../block-json.ts";
import { sha256Schema } from "../ids.ts";
import { jsonObjectSchema } from "./shared.ts";

export const conversationStarted = z.strictObject({
  type: z.literal("ConversationStarted"),
  version: z.literal(1),
  data: z.strictObject({
    origin: z.discriminatedUnion("type", [
      z.strictObject({ type: z.literal("new") }),
      z.strictObject({ type: z.literal("import"), source: z.string() }),
    ]),
    title: z.exactOptional(z.string()),
    labels: z.exactOptional(z.record(z.string(), z.string())),
  }),
});

export const conversationRelabelled = z.strictObject({
  type: z.literal("ConversationRelabelled"),
  version: z.literal(1),
  data: z.strictObject({
    title: z.exactOptional(z.string()),
    labels: z.exactOptional(z.record(z.string(), z.string())),
  }),
});

/** A block by user, app or import. While a run is open it waits: the run's result comes first. */
export const blockAppended = z.strictObject({
  type: z.literal("BlockAppended"),
  version: z.literal(1),
  data: z.strictObject({ block: blockJsonSchema }),
});

/** The full text of request settings, once per digest: what a request names by digest. */
export const settingsDeclared = z.strictObject({
  type: z.literal("SettingsDeclared"),
  version: z.literal(1),
  data: z.strictObject({ digest: sha256Schema, settings: jsonObjectSchema }),
});
