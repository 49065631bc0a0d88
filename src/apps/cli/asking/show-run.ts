import { excerpt, printable } from "../../../base/printable.ts";
import type { RunResult } from "../../../engine/options/result.ts";
import type { RunPart } from "../../../engine/options/run-part.ts";
import type { CliContext } from "../context.ts";

/** Shows the parts of a run as they come: what the model says on stdout, everything else as notes. */
export type RunScreen = {
  readonly show: (part: RunPart) => void;
  /** Ends the line of the answer. Writes the whole answer if what came in pieces was something else. */
  readonly end: (result: RunResult | null) => void;
};

/** How much of a tool's arguments and result a line shows. */
const shownOfTool = 160;
/** A person wonders about a pause of this length. */
const shownDelayMs = 1_000;

export function createRunScreen({ write, note, style }: Pick<CliContext, "write" | "note" | "style">): RunScreen {
  /** The text of the request under way, as far as it came. */
  let streamed = "";
  /** Why pieces that are on the screen count no more; null if none are. */
  let discarded: string | null = null;
  let isInLine = false;
  let outputIndex = 0;
  const say = (text: string): void => {
    if (text === "") return;
    write(printable(text));
    isInLine = !text.endsWith("\n");
  };
  const endLine = (): void => {
    if (isInLine) write("\n");
    isInLine = false;
  };
  const remark = (text: string): void => {
    endLine();
    note(style.dim(text));
  };
  return {
    show(part) {
      switch (part.type) {
        case "request-start":
          if (discarded !== null) remark(`the answer above does not count (${discarded}): asked again`);
          discarded = null;
          endLine();
          streamed = "";
          break;
        case "text-delta":
          if (part.outputIndex !== outputIndex) endLine();
          outputIndex = part.outputIndex;
          streamed += part.text;
          say(part.text);
          break;
        case "resumed":
          remark(`run ${part.runId} has not ended: it goes on`);
          break;
        case "attempt-discarded":
          // If it is the last attempt, the run's error says so.
          discarded = streamed === "" ? null : printable(part.reason);
          streamed = "";
          if ((part.retryInMs ?? 0) >= shownDelayMs)
            remark(`${printable(part.reason)}: asked again in ${Math.ceil((part.retryInMs ?? 0) * 0.001)} s`);
          break;
        case "tool-call-start":
          remark(`tool ${printable(part.call.name ?? "")} ${excerpt(part.call.arguments, shownOfTool)}`);
          break;
        case "tool-call-end":
          // The text of a denial begins with that word.
          remark(`  ${part.outcome === "denied" ? "" : `${part.outcome}: `}${excerpt(part.result.text, shownOfTool)}`);
          break;
        default:
      }
    },
    end(result) {
      endLine();
      // Layers may have changed the text, or it came whole.
      if (result === null || withoutBlanks(result.text) === withoutBlanks(streamed)) return;
      if (streamed !== "") note(style.dim("the whole answer, as the layers returned it:"));
      say(result.text);
      endLine();
    },
  };
}

/** Between the messages of an answer, line feeds are the reader's. */
const withoutBlanks = (text: string): string => text.replace(/\s+/gu, "");
