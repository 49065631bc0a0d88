import { messageOf } from "../../../base/error-message.ts";
import { parseJson } from "../../../base/json.ts";
import { printable, printableJson } from "../../../base/printable.ts";
import type { Actor } from "../../../domain/actor.ts";
import type { ApprovalDecision, ApprovalHandler, ApprovalQuestion } from "../../../engine/options/approvals.ts";
import type { Screen } from "../context.ts";
import type { Terminal } from "./terminal.ts";

/**
 * Asks the person at the terminal about each call that needs approval, with all of its arguments. The end of the input leaves the call to
 * `turnlog approve`.
 */
export const askPerson =
  (terminal: Pick<Terminal, "ask">, screen: Screen, actor: Actor): ApprovalHandler =>
  async (question) => {
    const { style, print } = screen;
    for (const line of questionLines(question)) print(style.warn(line));
    for (;;) {
      const said = await terminal.ask("approve? y(es), n(o) [reason for the model], e(dit): ", question.signal);
      if (said === null) return null;
      const [, word = "", message = ""] = /^\s*(\S*)\s*(.*?)\s*$/s.exec(said) ?? [];
      if (isWord(word, "yes") && message === "") return { how: "approve", actor };
      if (isWord(word, "no")) return { how: "deny", ...(message === "" ? {} : { message }), actor };
      if (isWord(word, "edit") && message === "") {
        const decision = await edited(terminal, { question, screen, actor });
        if (decision !== "again") return decision;
      } else print("Type y, n or e. Ctrl-D leaves the decision to others.");
    }
  };

const isWord = (typed: string, word: string): boolean => typed !== "" && word.startsWith(typed.toLowerCase());

type Editing = { readonly question: ApprovalQuestion; readonly screen: Screen; readonly actor: Actor };

/** The decision with other arguments; `again` if the person wrote none, and null at the end of the input. */
async function edited(
  terminal: Pick<Terminal, "ask">,
  { question: { input, signal }, screen, actor }: Editing,
): Promise<ApprovalDecision | "again" | null> {
  let text = JSON.stringify(input);
  for (;;) {
    const said = await terminal.ask("arguments: ", signal, printableJson(text));
    if (said === null) return null;
    if (said.trim() === "") return "again";
    try {
      return { how: "edit", input: parseJson(said), actor };
    } catch (error) {
      screen.print(`That is not JSON: ${printable(messageOf(error))}`);
      text = said;
    }
  }
}

function questionLines({ name, input, reason, expiresAt, refused }: ApprovalQuestion): readonly string[] {
  return [
    `${printable(name)} ${printableJson(JSON.stringify(input))}`,
    ...(reason === null ? [] : [`  reason: ${printable(reason)}`]),
    ...(expiresAt === null ? [] : [`  until ${expiresAt}`]),
    ...(refused === null ? [] : [`  the tool refuses these arguments: ${printable(refused)}`]),
  ];
}
