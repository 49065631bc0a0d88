import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { foldText } from "../../../src/base/fold-text.ts";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import { assistant, file, system, user } from "../../../src/domain/make-block.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";

/** A secret, and where it was said. */
export type Planted = { readonly form: string; readonly text: string };

/** Says secrets in every place where a conversation keeps words, each once, and returns them. */
export async function plant(conversation: Conversation, name: string): Promise<readonly Planted[]> {
  const planted: Planted[] = [];
  const next = (form: string): string => {
    const text = secret(`${name} ${planted.length}`);
    planted.push({ form, text });
    return text;
  };
  const label = (form: string): string => {
    const text = secret(`${name} ${planted.length}`).slice(0, 48);
    planted.push({ form, text });
    return text;
  };
  let hasLooked = false;
  const model = scripted([
    {
      calls: [
        {
          name: "look",
          arguments: { about: next("argument"), nested: JSON.stringify({ of: next("JSON in an argument") }) },
        },
        { name: "look", arguments: `{"about":"${escaped(next("argument with escapes"))}"}` },
      ],
    },
    { reasoning: next("reasoning"), text: next("answer") },
    {
      items: [
        {
          type: "web_search_call",
          id: "ws_1",
          status: "completed",
          action: { type: "search", query: next("item of a server") },
        },
      ],
      text: next("answer"),
    },
    { text: next("answer that was cut off"), status: "incomplete" },
    { error: { status: 400, code: "bad_request", message: next("error of a provider") } },
  ]);
  const look = tool({
    name: "look",
    description: next("description of a tool"),
    inputSchema: z.object({ about: z.string() }).loose(),
    execute: () => {
      if (hasLooked) throw new Error(next("error of a tool"));
      hasLooked = true;
      return { found: next("result"), nested: JSON.stringify([next("JSON in a result")]) };
    },
  });
  const rewrite = defineMiddleware({ name: "rewrite", version: "1" }, (go) => async (turn, ctx) => {
    await ctx.effect("note", async () => ({ said: next("effect") }));
    await ctx
      .effect("fail", async () => {
        throw new Error(next("error of an effect"));
      })
      .catch(() => undefined);
    ctx.instructions(next("instructions"));
    return go(turn.append(user(next("block of a layer"))));
  });
  const engine = createEngine({ provider: model, tools: [look], middleware: [rewrite] });
  await conversation.append(next("user"), { actor: { kind: "user", name: label("name of a user") } });
  await conversation.append([system(next("system")), assistant(next("assistant"))]);
  await conversation.relabel({ title: next("title"), labels: { person: label("label") } });
  await conversation.run(engine);
  await conversation.append(`${"x".repeat(20_460)}${next("long text")}${"y".repeat(70_000)}`);
  await conversation.append(
    user([
      file({ name: "notes.txt", data: `data:text/plain;base64,${Buffer.from(next("base64")).toString("base64")}` }),
    ]),
  );
  await conversation.run(engine);
  const before = (await conversation.head())?.revision ?? 0;
  await conversation.append(next("message that was reverted"));
  await conversation.revertTo(before);
  const fork = await conversation.fork(-1, { id: `${conversation.id}-fork` });
  await fork.append(next("fork"));
  for (let runs = 0; runs < 2; runs += 1) {
    await conversation.append(next("user"));
    // The last one fails.
    await conversation.run(engine).catch(() => undefined);
  }
  return planted;
}

/** A text that nothing else says, every 16 bytes of which nothing else has, with what is written differently by different writers. */
function secret(name: string): string {
  const [one, other] = ["1", "2"].map((n) => createHash("sha256").update(`${name} ${n}`).digest("base64url"));
  return `${one} "q" \n\t\\ é 你 Ä ${other}`;
}

/** As a model may write a text in JSON: all but ASCII with escapes. */
const escaped = (text: string): string =>
  JSON.stringify(text)
    .slice(1, -1)
    .replace(/[^ -~]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);

/**
 * Which of some secrets are in any file of a folder: by pieces of 16 bytes of their two halves, as they are, folded, or as base64 at any offset.
 * A text that crosses the pages of a file is found by another piece.
 */
export function leftIn(folder: string, planted: readonly Planted[]): readonly Planted[] {
  const byPiece = new Map<string, Planted>();
  for (const each of planted)
    for (const half of each.text.match(/[\w-]{16,}/g) ?? [])
      for (let at = 0; at + pieceLength + 4 <= half.length; at += 9)
        for (const form of formsOf(half.slice(at, at + pieceLength + 4))) byPiece.set(form, each);
  const begins = new Set([...byPiece.keys()].map((piece) => piece.slice(0, 4)));
  const found = new Set<Planted>();
  for (const name of readdirSync(folder)) {
    const text = readFileSync(join(folder, name), "latin1");
    for (let at = 0; at < text.length; at += 1) {
      if (!begins.has(text.slice(at, at + 4))) continue;
      const each = byPiece.get(text.slice(at, at + pieceLength));
      if (each !== undefined) found.add(each);
    }
  }
  return [...found];
}

const pieceLength = 16;

function formsOf(piece: string): readonly string[] {
  // Of the three ways in which bytes fall into groups of three, what does not depend on their neighbours.
  const base64 = [0, 1, 2].map((at) =>
    Buffer.from(`${"\0".repeat(at)}${piece}`)
      .toString("base64")
      .slice(at === 0 ? 0 : 4),
  );
  return [piece, foldText(piece), ...base64].map((form) => form.slice(0, pieceLength));
}
