import type * as z from "zod";
import { excerpt, printable } from "../../base/printable.ts";
import type { waiting } from "../documents/parts.ts";
import type { Screen } from "./context.ts";

type WaitingDocument = Readonly<z.infer<typeof waiting>>;

/** What a run waits for besides calls in doubt, and the command that decides or answers it. */
export function waitingLines(
  conversation: string,
  { kind, blockId, name, input, reason, expiresAt }: WaitingDocument,
  { style, columns, commandName }: Pick<Screen, "style" | "columns" | "commandName">,
): readonly string[] {
  if (kind === "doubt") return [];
  const given = excerpt(JSON.stringify(input), Math.max(columns - name.length - 4, 20));
  const until = expiresAt === null ? "" : `, until ${expiresAt}`;
  const why = reason === null ? "" : `: ${excerpt(reason, 200)}`;
  const what = kind === "approval" ? `waits for approval${until}${why}` : `waits for a result from outside${why}`;
  const command =
    kind === "approval"
      ? `${commandName} approve ${conversation} ${blockId} --as NAME`
      : `--settle ${blockId}=result:TEXT`;
  return [`  ${style.warn(printable(name))} ${given}`, `    ${what}`, `    ${command}`];
}
