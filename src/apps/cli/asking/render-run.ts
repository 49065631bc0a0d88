import { excerpt, printable } from "../../../base/printable.ts";
import type { Screen } from "../context.ts";
import { settlementWords } from "../option-values.ts";
import { waitingLines } from "../waiting-lines.ts";
import type { RunDocument } from "./ask-model.ts";

/** The documents whose text has been shown as it came. */
const shown = new WeakSet<RunDocument>();

export function markShown(document: RunDocument): RunDocument {
  shown.add(document);
  return document;
}

/** The answer, unless it has been shown as it came, and what is to be done if it is not complete. */
export function renderRun(document: RunDocument, screen: Screen): void {
  const { conversation, status, isNew, text, waitingFor, error } = document;
  const { print, note, style, commandName } = screen;
  if (text !== "" && !shown.has(document)) print(printable(text));
  if (!isNew) note("no message was unanswered: this is the recorded answer");
  if (status === "incomplete") note(style.warn("the answer broke off at a limit"));
  if (status === "calls-open")
    note(style.warn(`calls wait for results: ${commandName} append ${conversation} --as tool`));
  if (error !== null) note(style.bad(printable(error.message)));
  if (status === "parked")
    note(`the run waits: once this is decided, \`${commandName} run ${conversation}\` goes on with it`);
  for (const waiting of waitingFor) {
    for (const line of waitingLines(conversation, waiting, screen)) print(line);
    if (waiting.kind !== "doubt") continue;
    print(
      `  ${style.warn(printable(waiting.name))} ${excerpt(JSON.stringify(waiting.input), 80)}`,
      waiting.reason === null
        ? "    began before a crash, and its end is unknown"
        : `    its end is unknown: ${excerpt(waiting.reason, 200)}`,
      ...settlementWords(waiting.blockId).map((words) => `    ${commandName} resume ${conversation} ${words}`),
    );
  }
}
