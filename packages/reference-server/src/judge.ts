import { hashOf } from "./ciphertext.ts";
import { lineOf } from "./readings.ts";
import { type JsonObject, sortedText } from "./wire.ts";

/** One item that a model should read, independent of any wire JSON. */
export type Expected =
  | { readonly kind: "instructions"; readonly text: string }
  /** `definition` is the tool as declared to the model; key order is free. */
  | { readonly kind: "tool"; readonly definition: JsonObject; readonly role?: "developer" }
  | {
      readonly kind: "text" | "refusal";
      readonly role: "user" | "system" | "developer" | "assistant";
      readonly text: string;
      readonly phase?: "commentary" | "final_answer" | undefined;
    }
  /** `source` is the exact URL, data URL or file id. */
  | { readonly kind: "image"; readonly role: string; readonly source: string; readonly detail?: string }
  | { readonly kind: "file"; readonly role: string; readonly source: string; readonly filename?: string }
  | { readonly kind: "audio"; readonly role: string; readonly audio: JsonObject }
  /** A message without parts. */
  | { readonly kind: "empty"; readonly role: string }
  | { readonly kind: "call"; readonly name: string; readonly arguments: string; readonly type?: "custom_tool_call" }
  /** `call` is the index, from 0, of the answered call among all calls of the context. One entry for each part. */
  | { readonly kind: "result"; readonly call: number; readonly text: string }
  | { readonly kind: "result-image"; readonly call: number; readonly source: string; readonly detail?: string }
  /** Identified by its readable text or, if there is none, by the id that the server gave it. */
  | { readonly kind: "reasoning" | "compaction"; readonly text: string }
  | { readonly kind: "reasoning" | "compaction"; readonly id: string }
  /** A hosted item, identified by the id that the server gave it. */
  | { readonly kind: "hosted"; readonly type: string; readonly id: string; readonly name?: string };

/** Lines made from a source document, for comparison with those of `readItems`. */
export function expectedReading(entries: readonly Expected[]): readonly string[] {
  let calls = 0;
  return entries.map((entry) => {
    if (entry.kind !== "call") return expectedLine(entry);
    calls += 1;
    const kind = entry.type ?? "call";
    const content = hashOf(entry.arguments);
    return lineOf({ role: "assistant", kind, name: entry.name, call: calls - 1, content });
  });
}

function expectedLine(entry: Exclude<Expected, { readonly kind: "call" }>): string {
  switch (entry.kind) {
    case "instructions":
      return lineOf({ kind: "instructions", content: hashOf(entry.text) });
    case "tool": {
      const name = entry.definition["name"] ?? entry.definition["type"];
      const content = hashOf(sortedText(entry.definition));
      const role = entry.role === undefined ? {} : { role: entry.role };
      return lineOf({ ...role, kind: "tool", name: typeof name === "string" ? name : undefined, content });
    }
    case "text":
    case "refusal":
      return lineOf({ role: entry.role, kind: entry.kind, phase: entry.phase, content: hashOf(entry.text) });
    case "image":
      return lineOf({
        role: entry.role,
        kind: "image",
        name: shownDetail(entry.detail),
        content: hashOf(entry.source),
      });
    case "file":
      return lineOf({ role: entry.role, kind: "file", name: entry.filename, content: hashOf(entry.source) });
    case "audio":
      return lineOf({ role: entry.role, kind: "audio", content: hashOf(sortedText(entry.audio)) });
    case "empty":
      return lineOf({ role: entry.role, kind: "empty" });
    case "result":
      return lineOf({ role: "tool", kind: "result", call: entry.call, content: hashOf(entry.text) });
    case "result-image": {
      const { call, detail, source } = entry;
      return lineOf({ role: "tool", kind: "result-image", name: shownDetail(detail), call, content: hashOf(source) });
    }
    case "reasoning":
    case "compaction": {
      const content = "id" in entry ? `id:${entry.id}` : hashOf(entry.text);
      return lineOf({ role: "assistant", kind: entry.kind, content });
    }
    case "hosted":
      return lineOf({ role: "assistant", kind: entry.type, name: entry.name, content: `id:${entry.id}` });
  }
}

function shownDetail(detail: string | undefined): string | undefined {
  return detail === "auto" ? undefined : detail;
}

/** The judge's result for two readings. */
export type Judgement =
  | { readonly coherent: true }
  | {
      readonly coherent: false;
      /** The index in `actual` of the first line that differs. */
      readonly index: number;
      readonly expected: string | undefined;
      readonly actual: string | undefined;
      /** One sentence for a failure message. */
      readonly summary: string;
    };

/** How strictly reasoning is judged: shaping may omit reasoning, but never move or invent it. */
export interface JudgeOptions {
  /** Default: "exact". "subset": expected reasoning may be missing. "ignore": it is not compared. */
  readonly reasoning?: "exact" | "subset" | "ignore";
}

/** Compares what the model should have read with what it read. Reports the first difference. */
export function judge(expected: readonly string[], actual: readonly string[], options: JudgeOptions = {}): Judgement {
  const policy = options.reasoning ?? "exact";
  if (policy === "ignore") return compare(expected.filter(isOther), actual.filter(isOther), false);
  return compare(expected, actual, policy === "subset");
}

function compare(expected: readonly string[], actual: readonly string[], mayLackReasoning: boolean): Judgement {
  let at = 0;
  for (const [index, line] of actual.entries()) {
    while (mayLackReasoning && expected[at] !== undefined && expected[at] !== line && !isOther(expected[at] ?? ""))
      at += 1;
    if (expected[at] !== line) return difference(index, expected[at], line);
    at += 1;
  }
  const missing = mayLackReasoning ? expected.slice(at).find(isOther) : expected[at];
  return missing === undefined ? { coherent: true } : difference(actual.length, missing, undefined);
}

function difference(index: number, expected: string | undefined, actual: string | undefined): Judgement {
  const summary = `line ${index}: expected ${expected ?? "nothing more"}, the model read ${actual ?? "nothing more"}`;
  return { coherent: false, index, expected, actual, summary };
}

function isOther(line: string): boolean {
  return !line.startsWith("assistant | reasoning |");
}
