import type { Block } from "../../../src/domain/block.ts";
import { toolResult } from "../../../src/domain/make-block.ts";
import type { Turn } from "../../../src/domain/turn.ts";
import { defineMiddleware, type Layer, type Next } from "../../../src/engine/ports/middleware.ts";
import { cache } from "../../../src/middleware/cache.ts";
import { conditional } from "../../../src/middleware/conditional.ts";
import { contentFilter } from "../../../src/middleware/content-filter.ts";
import { recover } from "../../../src/middleware/recover.ts";
import { redact } from "../../../src/middleware/redact.ts";
import type { Random } from "./random.ts";
import type { Speech } from "./speech.ts";

export type Source = { readonly random: Random; readonly speech: Speech };

/** A layer of a random habit; what it does each time is drawn too. */
export function randomLayer(index: number, source: Source): Layer {
  const { random, speech } = source;
  const habit = random.pick([
    "idle",
    "edit",
    "edit",
    "ephemeral",
    "hide",
    "repeat",
    "cache",
    "older",
    "catch",
  ] as const);
  return defineMiddleware({ name: `layer-${index}-${habit}`, version: "1.0.0" }, (next) => (turn) => {
    switch (habit) {
      case "idle":
        return next(turn);
      case "edit":
        return next(random.chance(0.5) ? editedTurn(turn, source) : turn);
      case "ephemeral":
        return ephemeral(turn, next, source);
      case "hide":
        return hide(turn, next, source);
      case "repeat":
        return repeat(turn, next, source);
      case "cache":
        return random.chance(0.3) ? Promise.resolve(turn.append(speech.newMessage("assistant"))) : next(turn);
      case "older":
        return older(turn, next, source);
      default:
        return next(turn).catch(() => turn.append(speech.newMessage("assistant")));
    }
  });
}

function editedTurn(turn: Turn, source: Source): Turn {
  const { random, speech } = source;
  const index = random.below(turn.length);
  const block = turn.at(index);
  if (block === undefined) return turn;
  switch (random.below(6)) {
    case 0:
      return turn.replace(block, speech.edited(block));
    case 1:
      return turn.length > 1 ? turn.remove(block) : turn;
    case 2:
      return turn.insert(index, speech.newMessage(random.pick(["user", "system", "developer", "assistant"])));
    case 3:
      return turn.move(block, random.below(turn.length));
    case 4:
      return withCopy(turn, block, source);
    default:
      return turn.append(orphanResult(source));
  }
}

/** A copy goes without ids, and so does the response that comes after it: what needs an id is then left out. */
function withCopy(turn: Turn, block: Block, { random, speech }: Source): Turn {
  const said = speech.saidOf(block);
  if (said === null || said.kind === "result") return turn;
  speech.hostedMayBeMissing ||= said.group !== null;
  return turn.insert(random.below(turn.length + 1), block.withId(null));
}

function orphanResult({ random, speech }: Source): Block {
  return toolResult({ callId: `call_${random.below(1e6)}`, output: speech.newText("orphan", "result") });
}

async function ephemeral(turn: Turn, next: Next, { random, speech }: Source): Promise<Turn> {
  const extra = speech.newMessage("developer");
  const result = await next(turn.insert(random.below(turn.length + 1), extra));
  return result.filter((block) => speech.saidOf(block)?.text !== extra.text);
}

async function hide(turn: Turn, next: Next, { random, speech }: Source): Promise<Turn> {
  const originals = new Map<string | null, Block>();
  const hidden = turn.map((block) => {
    if (!["user", "tool_result"].includes(block.kind) || random.chance(0.5)) return block;
    originals.set(block.id, block);
    return speech.edited(block);
  });
  const result = await next(hidden);
  return result.map((block) => originals.get(block.id) ?? block);
}

async function repeat(turn: Turn, next: Next, { random }: Source): Promise<Turn> {
  let result = turn;
  for (let times = 1 + random.below(3); times > 0; times -= 1) {
    result = await next(random.chance(0.5) ? turn : result);
  }
  return result;
}

async function older(turn: Turn, next: Next, { random, speech }: Source): Promise<Turn> {
  const first = await next(turn);
  const second = await next(first.append(speech.newMessage("user")));
  return random.chance(0.5) ? first : second;
}

/** A layer of `turnlog/layers`. What `redact` hides is a word in front of a nonce, so that the world still knows what is said. */
export function broughtLayer({ random, speech }: Source): Layer {
  const name = "brought";
  const kind = random.pick(["redact", "redact", "filter", "cache", "conditional", "recover"] as const);
  switch (kind) {
    case "redact": {
      const find = random.pick([/\buser\b/, /\bresult\b/, /\b(user|system|result)\b/]);
      return redact({ name, detect: [{ kind: "word", find }], strategy: random.pick(["restore", "redact"]) });
    }
    case "filter":
      return contentFilter({
        name,
        action: random.pick(["redact", "warn"]),
        replacement: "[word]",
        direction: "before",
        check: (text) => (text.startsWith("user ") ? { reason: "a word", values: ["user"] } : null),
      });
    case "cache": {
      const kept = new Map<string, string>();
      // What is answered again is a message that no server said in this place.
      return cache({
        name,
        key: "secret",
        ttl: 1_000,
        store: { get: () => undefined, set: (key, value) => kept.set(key, value) },
      });
    }
    case "conditional": {
      const layer = redact({ name, detect: [{ kind: "word", find: /\buser\b/ }] });
      const size = 1 + random.below(6);
      return conditional({ name, version: "1.0.0", when: (turn) => turn.length > size, layer });
    }
    default:
      return recover({ name, answer: () => speech.newMessage("assistant") });
  }
}
