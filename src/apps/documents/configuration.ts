import * as z from "zod";
import { list } from "./parts.ts";

/** `turnlog config` */
export const configDocument = z.strictObject({
  /** The files that were read. */
  files: list(z.string()),
  /** Without credentials. */
  values: list(
    z.strictObject({
      key: z.string(),
      value: z.string(),
      from: z.enum(["flag", "env", "file", "default"]),
      /** The option, the variable or the file. */
      name: z.string().nullable(),
    }),
  ),
  /** What is wrong with entries that no command has asked for yet. */
  problems: list(z.string()),
});
