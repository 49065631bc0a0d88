import { counted, grouped } from "../../../base/counted.ts";
import { printable } from "../../../base/printable.ts";
import type { ConversationRegression } from "../../../replay/regression/conversation-result.ts";
import { culpritName } from "../../../replay/regression/culprit.ts";
import type { RegressionDocument } from "../../documents/regression.ts";
import { writeWholeFile } from "../whole-file.ts";
import { costWords, summaryWords } from "./summary-words.ts";

/** A file about the comparison, written while it is made. */
type Report = AsyncDisposable & {
  /** Throws if the file cannot be written: that ends the comparison, which may take long. */
  readonly add: (result: ConversationRegression) => void;
  /** Without it, because the comparison failed, no file is left behind. */
  readonly end: (document: RegressionDocument) => Promise<void>;
};

type ReportFiles = { readonly junit?: string; readonly markdown?: string; readonly report?: string };

/** All the files that are asked for, as one. */
export function reportsTo({ junit, markdown, report }: ReportFiles): Report {
  const reports = [
    ...(junit === undefined ? [] : [junitReport(junit)]),
    ...(markdown === undefined ? [] : [markdownReport(markdown)]),
    ...(report === undefined ? [] : [jsonReport(report)]),
  ];
  return {
    add(result) {
      for (const each of reports) each.add(result);
    },
    async end(document) {
      for (const each of reports) await each.end(document);
    },
    async [Symbol.asyncDispose]() {
      for (const each of reports) await each[Symbol.asyncDispose]();
    },
  };
}

type Writing = {
  readonly name: string;
  readonly begin: string;
  readonly add: (result: ConversationRegression, queue: PieceQueue) => void;
  readonly end: (document: RegressionDocument) => string;
};

function reportIn(path: string, { name, begin, add, end }: Writing): Report {
  const queue = createPieceQueue();
  queue.push(begin);
  const written = writeWholeFile(path, { name, begin, pieces: queue.pieces });
  let failure: { readonly error: unknown } | null = null;
  const settled = written.catch((error: unknown) => {
    failure = { error };
  });
  return {
    add(result) {
      if (failure !== null) throw failure.error;
      add(result, queue);
    },
    async end(document) {
      queue.push(end(document));
      queue.end();
      await written;
    },
    async [Symbol.asyncDispose]() {
      queue.fail(new Error("the comparison failed"));
      await settled;
    },
  };
}

/** Pieces of a file that is written while they are made. */
type PieceQueue = {
  readonly pieces: AsyncIterable<string>;
  readonly push: (piece: string) => void;
  readonly end: () => void;
  /** Ends the pieces with this error. */
  readonly fail: (error: Error) => void;
};

function createPieceQueue(): PieceQueue {
  const waiting: string[] = [];
  const state: { hasEnded: boolean; failure: Error | null; wake: (() => void) | null } = {
    ...{ hasEnded: false, failure: null, wake: null },
  };
  const wakeUp = (): void => {
    state.wake?.();
    state.wake = null;
  };
  return {
    push(piece) {
      waiting.push(piece);
      wakeUp();
    },
    end() {
      state.hasEnded = true;
      wakeUp();
    },
    fail(error) {
      state.failure = error;
      wakeUp();
    },
    pieces: (async function* () {
      for (;;) {
        for (let piece = waiting.shift(); piece !== undefined; piece = waiting.shift()) yield piece;
        if (state.failure !== null) throw state.failure;
        if (state.hasEnded) return;
        await new Promise<void>((resolve) => {
          state.wake = resolve;
        });
      }
    })(),
  };
}

/** Every conversation as a test case: a CI server shows those that differ as failures, and those that are unknown as skipped. */
const junitReport = (path: string): Report =>
  reportIn(path, {
    name: "JUnit report",
    begin: `<?xml version="1.0" encoding="UTF-8"?>\n<testsuite name="turnlog regress">\n`,
    add(result, queue) {
      queue.push(
        `  <testcase classname="turnlog.regress" name="${xml(result.conversation)}">${outcome(result)}</testcase>\n`,
      );
    },
    end: (document) => `  <system-out>${xml(summaryWords(document))}</system-out>\n</testsuite>\n`,
  });

function outcome(result: ConversationRegression): string {
  const { differs, first, culprits, changed, requests, compared, message } = result;
  if (differs) {
    const words = `${grouped(changed)} of ${counted(requests, "request")} change`;
    const all = culprits.map(({ name, requests: of }) => `${name}: ${counted(of, "request")}`).join("\n");
    return `<failure message="${xml(`${words}: ${first === null ? "" : culpritName(first)}`)}">${xml(all)}</failure>`;
  }
  return compared === 0 ? `<skipped message="${xml(message ?? unknownWords(result))}"/>` : "";
}

const unknownWords = ({ unknown }: Pick<ConversationRegression, "unknown">): string => {
  const reasons = Object.entries(unknown).map(([reason, requests]) => `${counted(requests, "request")} (${reason})`);
  return reasons.length === 0 ? "it has no requests" : `unknown: ${reasons.join(", ")}`;
};

/** Every conversation that differs as a line of JSON, then the summary. */
const jsonReport = (path: string): Report =>
  reportIn(path, {
    name: "report of turnlog regress",
    begin: `{"report":"turnlog regress","version":1}\n`,
    add(result, queue) {
      if (result.differs || result.message !== null) queue.push(`${JSON.stringify(result)}\n`);
    },
    end: (document) => `${JSON.stringify({ summary: document })}\n`,
  });

/** How many conversations the text for a pull request lists. */
const maxListed = 20;

/** The text for a pull request: the summary, the culprits, and the first conversations that differ. */
function markdownReport(path: string): Report {
  return reportIn(path, {
    name: "Markdown report of turnlog regress",
    begin: "## turnlog regress\n\n",
    add: () => undefined,
    end(document) {
      const { culprits, differs, allowance } = document;
      const verdict = allowance.isWithin ? "Within the allowance." : "**Beyond the allowance.**";
      const rows = culprits.map(
        ({ name, conversations, requests }) => `| ${code(name)} | ${grouped(conversations)} | ${grouped(requests)} |\n`,
      );
      const listed = differs
        .slice(0, maxListed)
        .map(
          ({ conversation, changed, first }) => `| ${code(conversation)} | ${grouped(changed)} | ${code(first)} |\n`,
        );
      return [
        `${summaryWords(document)}\n\n${verdict}\n`,
        ...(rows.length === 0 ? [] : ["\n| culprit | conversations | requests |\n| --- | --- | --- |\n", ...rows]),
        ...(listed.length === 0
          ? []
          : ["\n| conversation | requests | first culprit |\n| --- | --- | --- |\n", ...listed]),
        ...(document.money === null ? [] : [`\nCost: ${costWords(document)}.\n`]),
      ].join("");
    },
  });
}

/** Text that a layer or a conversation is named by may hold anything. */
const code = (text: string): string => `\`${printable(text).replaceAll(/[`|\n]/g, " ")}\``;

const xml = (text: string): string =>
  printable(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
