import { expect, test } from "vitest";
import type { Actor } from "../../src/domain/actor.ts";
import { idOf } from "../../src/domain/block.ts";
import { user } from "../../src/domain/make-block.ts";
import { defineMiddleware, type Layer } from "../../src/engine/ports/middleware.ts";
import { cache } from "../../src/middleware/cache.ts";
import { conditional } from "../../src/middleware/conditional.ts";
import { contentFilter } from "../../src/middleware/content-filter.ts";
import { recover } from "../../src/middleware/recover.ts";
import { redact } from "../../src/middleware/redact.ts";
import type { ScriptedAnswer, ScriptedQuestion } from "../../src/providers/scripted/scripted.ts";
import { type Draw, drawFrom } from "../../src/testing/rehearsal/draw.ts";
import { firstSeed, seeds } from "../support/cases.ts";
import { createWorkshop } from "../support/workshop.ts";

const names = ["redact", "content-filter", "sometimes", "recover", "cache"] as const;
type Name = (typeof names)[number];

function layerOf(name: Name): Layer {
  switch (name) {
    case "redact":
      return redact({ detect: ["email"] });
    case "content-filter":
      return contentFilter({
        action: "redact",
        check: (text) => (text.includes("bad") ? { reason: "a word", values: ["bad"] } : null),
      });
    case "sometimes": {
      const note = defineMiddleware(
        { name: "note", version: "1.0.0" },
        (next) => (turn) => next(turn.append(user("a note"))),
      );
      return conditional({
        name,
        version: "1.0.0",
        when: (turn) => turn.last?.text.includes("note") === true,
        layer: note,
      });
    }
    case "recover":
      return recover({ answer: "sorry" });
    default:
      return cache({ store: new Map<string, string>(), key: "secret", ttl: 60_000 });
  }
}

/** What a message and the answer to it are made of: each word concerns one layer. */
type Said = { readonly message: string; readonly answer: string };

/** Only the last round may fail: the filter checks messages that no model has answered again. */
const drawn = (draw: Draw, isLast: boolean): Said => ({
  message: `${draw.nonce()}${draw.chance(0.4) ? " ada@example.com" : ""}${draw.chance(0.4) ? " bad" : ""}${draw.chance(0.4) ? " note" : ""}`,
  answer:
    isLast && draw.chance(0.4)
      ? "fail"
      : `${draw.chance(0.5) ? "[name] " : ""}${draw.chance(0.4) ? "bad " : ""}${draw.nonce()}`,
});

function answerOf({ answer }: Said, { context }: ScriptedQuestion): ScriptedAnswer {
  if (answer === "fail") return { error: { status: 400, message: "no" } };
  return answer.replace("[name]", /\[email-[0-9a-f]+\]/.exec(JSON.stringify(context))?.[0] ?? "nobody");
}

/** The authors of what a round leaves in the Turn, as the stack and the words say. */
function truthOf({ message, answer }: Said, stack: readonly Name[], hasName: boolean): readonly string[] {
  const has = (name: Name): boolean => stack.includes(name);
  // Of a round that failed, an answer of `recover` keeps the Turn that it was given: what inner layers changed is gone.
  const isKept = (name: Name): boolean =>
    has(name) && (answer !== "fail" || stack.indexOf(name) < stack.indexOf("recover"));
  const isFiltered = isKept("content-filter") && message.includes("bad");
  // The filter changed the hidden form, and the layer outside of it restored the rest.
  const isRestored =
    isKept("redact") && message.includes("@") && stack.indexOf("redact") < stack.indexOf("content-filter");
  const asked = [
    isFiltered ? (isRestored ? "redact" : "content-filter") : "user",
    ...(isKept("sometimes") && message.includes("note") ? ["sometimes"] : []),
  ];
  if (answer === "fail") return [...asked, "recover"];
  // The outermost layer that changed the answer is the first of the list.
  const changes = stack.filter(
    (name) =>
      (name === "content-filter" && answer.includes("bad")) ||
      (name === "redact" && answer.includes("[name]") && hasName),
  );
  return [...asked, changes[0] ?? "provider"];
}

const nameOf = (actor: Actor | undefined): string | undefined =>
  actor?.kind === "middleware" ? actor.name : actor?.kind;

test("blame names the layer of every edit, in random stacks of layers whose edits are known", async () => {
  const edits = new Map<string, number>();
  for (const seed of seeds(15, 1_000, 100)) {
    const draw = drawFrom("blame", seed);
    const { conversation, ...workshop } = createWorkshop();
    const order = names.map((name) => ({ name, at: draw.nonce() })).sort((a, b) => (a.at < b.at ? -1 : 1));
    const stack = order.map(({ name }) => name).filter((name) => draw.chance(0.7) || name === "recover");
    const rounds = Array.from({ length: 3 }, (_, n) => drawn(draw, n === 2));
    const { engine } = workshop.scripted(
      rounds.map((said) => (asked: ScriptedQuestion) => answerOf(said, asked)),
      { middleware: stack.map(layerOf) },
    );
    const truth: string[] = [];
    let hasName = false;
    for (const said of rounds) {
      hasName ||= said.message.includes("@");
      await conversation.append(said.message);
      await conversation.run(engine);
      truth.push(...truthOf(said, stack, hasName));
    }
    const past = await (await conversation.at(-1)).load();
    const blamed = (await conversation.turn()).blocks.map((block) => {
      const { made, versions = [] } = past.blame(idOf(block)) ?? {};
      return nameOf(versions.find(({ digest }) => digest === block.recordedAs)?.change.actor ?? made?.actor);
    });
    expect({ seed, stack, blamed }).toEqual({ seed, stack, blamed: truth });
    for (const name of blamed) edits.set(name ?? "", (edits.get(name ?? "") ?? 0) + 1);
  }
  if (firstSeed !== 1) return;
  for (const name of ["user", "provider", "redact", "content-filter", "sometimes", "recover"])
    expect.soft(edits.get(name), name).toBeGreaterThan(0);
});
