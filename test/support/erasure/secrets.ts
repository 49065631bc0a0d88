import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import { user } from "../../../src/domain/make-block.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";

/** Secrets that nothing else says, with what texts are written differently by: quotes, line feeds, other scripts, upper case. */
export function createSecrets(seed: string) {
  const all: string[] = [];
  return {
    all,
    next(length = 0): string {
      const secret = `Key-${seed}-${String(all.length).padStart(5, "0")}-x "q" \n\té 你 ${"Z".repeat(length)}${seed}`;
      all.push(secret);
      return secret;
    },
  };
}
export type Secrets = ReturnType<typeof createSecrets>;

/** Says secrets wherever a conversation keeps words: messages, titles, labels, calls, results, layers' edits, effects, settings, actors, long texts. */
export async function saySecrets(conversation: Conversation, secrets: Secrets): Promise<void> {
  const next = (length?: number): string => secrets.next(length);
  const model = scripted([
    { calls: [{ name: "look", arguments: { about: next() } }] },
    { reasoning: next(), text: next() },
    { text: next() },
  ]);
  const look = tool({
    name: "look",
    description: next(),
    inputSchema: z.object({ about: z.string() }),
    execute: () => next(),
  });
  const edit = defineMiddleware({ name: "rewrite", version: "1" }, (go) => async (turn, ctx) => {
    await ctx.effect("note", async () => next());
    ctx.instructions(next());
    return go(turn.append(user(next())));
  });
  const engine = createEngine({ provider: model, tools: [look], middleware: [edit] });
  await conversation.append(next(), { actor: { kind: "user", name: label(next()) } });
  await conversation.relabel({ title: next(), labels: { person: label(next()) } });
  await conversation.run(engine);
  await conversation.append(next(70_000));
  await conversation.append(next(), { key: "again" });
  await conversation.run(engine);
}

/** A text in one line, as labels and names are. */
const label = (text: string): string => text.slice(0, 24);

/**
 * Which of some secrets stand in any file of a folder, by a fragment of 16 bytes that no form of JSON changes: as it is, folded, or as
 * base64 at any offset.
 */
export function foundIn(folder: string, texts: readonly string[]): readonly string[] {
  const files = readdirSync(folder).map((name) => readFileSync(join(folder, name)));
  return texts.filter((text) => files.some((file) => formsOf(text.slice(0, 16)).some((form) => file.includes(form))));
}

function formsOf(fragment: string): readonly Buffer[] {
  // Of the three ways in which bytes fall into groups of three, what does not depend on their neighbours.
  const base64 = [0, 1, 2].map((at) =>
    Buffer.from(`${"\0".repeat(at)}${fragment}`)
      .toString("base64")
      .slice(at === 0 ? 0 : 4, 20),
  );
  return [fragment, fragment.toLowerCase(), ...base64].map((form) => Buffer.from(form));
}
