import { messageOf } from "../../base/error-message.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import { regressedConversation, regressionDocument } from "../documents/regression.ts";
import type { ReportDocument } from "./what-if-documents.ts";

type Regressed = ReportDocument["conversations"][number];

/** A report of `turnlog regress --report`, whose conversations the page opens. */
export class LabReport {
  readonly file: string;
  readonly #summary: ReportDocument["summary"];
  readonly #conversations: readonly Regressed[];

  private constructor(file: string, summary: ReportDocument["summary"], conversations: readonly Regressed[]) {
    this.file = file;
    this.#summary = summary;
    this.#conversations = conversations;
  }

  /**
   * Reads the text of a report.
   *
   * @throws {TurnlogError} `usage` if it is none, or is cut off.
   */
  static of(file: string, text: string): LabReport {
    const [first = "", ...rest] = text.split("\n").filter((line) => line !== "");
    const last = rest.pop();
    if (!first.startsWith('{"report":"turnlog regress","version":1'))
      throw new TurnlogError("usage", `${file} is not a report of turnlog regress: write one with --report FILE`);
    try {
      const { summary } = JSON.parse(last ?? "") as { readonly summary: unknown };
      const known = regressionDocument.parse(summary);
      return new LabReport(
        file,
        known,
        rest.map((line) => regressedConversation.parse(JSON.parse(line))),
      );
    } catch (cause) {
      const reason = messageOf(cause).split("\n", 1)[0] ?? "";
      throw new TurnlogError("usage", `${file} cannot be read to its end (${reason}): write it again`, { cause });
    }
  }

  page({ from, n }: { readonly from: number; readonly n: number }): ReportDocument {
    const conversations = this.#conversations.slice(from, from + n);
    return { file: this.file, summary: this.#summary, from, total: this.#conversations.length, conversations };
  }
}
