import { expect, test } from "vitest";
import * as z from "zod";
import {
  functionCall,
  message,
  type ReferenceServer,
  reasoning,
  type ScriptedAnswer,
  startReferenceServer,
} from "../../packages/reference-server/src/server.ts";
import { isJsonList, isJsonObject, type JsonValue } from "../../src/base/json.ts";
import { sha256Hex } from "../../src/base/sha256.ts";
import { TurnlogStore } from "../../src/conversation/turnlog-store.ts";
import { text, user } from "../../src/domain/make-block.ts";
import type { Turn } from "../../src/domain/turn.ts";
import type { Mode } from "../../src/engine/options/chain-policy.ts";
import type { EngineConfig } from "../../src/engine/options/create-engine.ts";
import { createEngine } from "../../src/engine/options/create-engine.ts";
import type { Engine } from "../../src/engine/options/engine.ts";
import { broughtBy, defineMiddleware, type Layer } from "../../src/engine/ports/middleware.ts";
import type { Provider } from "../../src/engine/ports/provider.ts";
import { tool } from "../../src/engine/ports/tool.ts";
import { rebuildRequest } from "../../src/engine/recorded/recorded-request.ts";
import { conversationView } from "../../src/projections/views/conversation-view.ts";
import { codecs } from "../../src/providers/codecs.ts";
import { playOtherwise } from "../../src/replay/counterfactual.ts";
import { createMemoryStore } from "../../src/stores/memory/store.ts";
import { firstSeed, isTelling, seeds } from "../support/cases.ts";
import { createRandom } from "../support/coherence/random.ts";
import { type Dialect, saidWithoutIds } from "../support/dialect.ts";
import { byWire, type DialectName, dialects } from "../support/dialects.ts";
import { breakOff, goodMorning } from "../support/faults/recovery-world.ts";
import { broughtLayer } from "../support/run/brought-layer.ts";
import { eventsOf } from "../support/workshop.ts";

const stacks = seeds(5, 5_000, 50);

/** A layer that edits, restores, hides and inserts, as the log's own chance says. */
const editing = (name: string, habit: number): Layer =>
  defineMiddleware({ name, version: "1.0.0" }, (next) => async (given, ctx) => {
    const dice = Math.floor(ctx.random() * 1_000) + habit;
    let asked: Turn = given;
    if (dice % 3 === 0) asked = asked.map((block) => (block.kind === "tool_result" ? block.withText("short") : block));
    if (dice % 4 === 0) asked = asked.insert(Math.min(1, asked.length), user(`${name} says ${dice}`));
    // Most wires go without its second part.
    if (dice % 8 === 0)
      asked = asked.append(user([text(`${name} shows ${dice}`), { type: "refusal", refusal: "No." }]));
    if (dice % 5 === 0) ctx.instructions(`${name} asks for ${dice}`);
    const [, second] = asked.blocks;
    if (dice % 7 === 0 && second !== undefined) asked = asked.remove(second);
    const result = await next(asked);
    return dice % 2 === 0 ? given.append(...broughtBy(asked, result)) : result;
  });

const idle = (name: string): Layer => defineMiddleware({ name, version: "1.0.0" }, (next) => (turn) => next(turn));

/** The n-th answer is the same whatever was asked: so the calls come in one order. */
function answerOf(seed: number, n: number): ScriptedAnswer {
  const random = createRandom(seed * 1_000 + n);
  const calls = n % 5 === 4 ? 0 : random.below(3);
  const thought = random.chance(0.5) ? [reasoning({ summary: `thought ${n}` })] : [];
  const said = calls === 0 || random.chance(0.3) ? [message(`answer ${n}`)] : [];
  const made = Array.from({ length: calls }, (_, index) =>
    functionCall("look-up", JSON.stringify({ of: `${n} ${index}` }), { callId: `call_${n}_${index}` }),
  );
  return { output: [...thought, ...said, ...made] };
}

const questions = ["hello", "and then?", "is that all?"];

/** A conversation of this stack, played against a server, on a clock and ids that count. */
async function play(config: Pick<EngineConfig, "middleware" | "mode" | "interruptionNote"> & Asked) {
  let [now, ids, runs, inferences] = [Date.parse("2026-03-01T12:00:00.000Z"), 0, 0, 0];
  const clock = (): number => {
    now += 1;
    return now;
  };
  const count = (prefix: string): string => {
    ids += 1;
    return `${prefix}_${String(ids).padStart(16, "0")}`;
  };
  const store = new TurnlogStore(createMemoryStore(), { clock, newId: count });
  const conversation = store.conversation("cnv_played");
  const engine = createEngine({
    maxSteps: 12,
    ...config,
    clock,
    newId(prefix) {
      // Messages have the ids that they would have after any number of requests: redact makes placeholders of them.
      if (prefix === "inf") {
        inferences += 1;
        return `${prefix}_${String(inferences).padStart(16, "0")}`;
      }
      runs += 1;
      return `run_${String(runs).padStart(16, "0")}`;
    },
  });
  const breaksOff = config.middleware?.includes(breakOff) === true;
  for (const question of [...(breaksOff ? [goodMorning] : []), ...questions]) {
    await conversation.append(question);
    const running = conversation.run(engine);
    if (question === goodMorning) await expect(running).rejects.toMatchObject({ code: "run-failed" });
    else await running;
  }
  return { store, conversation };
}

const lookUp = tool({
  name: "look-up",
  description: "Looks up.",
  inputSchema: z.object({ of: z.string() }),
  execute: ({ of }) => `found ${of}`,
});

/** Who is asked, and what tools they are offered. */
type Asked = Pick<EngineConfig, "provider" | "otherProviders" | "route" | "tools">;

const askedOn =
  (name: DialectName) =>
  (url: string): Asked => {
    const dialect: Dialect = dialects[name];
    const provider = dialect.provider(url, { model: "m", transport: "json", instructions: "Be brief." });
    return { provider, tools: dialect.hasOwnTools === true ? [] : [lookUp] };
  };
const askedOnResponses = askedOn("responses");

/** Two endpoints of one wire, between which the Turn decides. */
const routedOn =
  (name: DialectName) =>
  (url: string): Asked => {
    const { provider, ...asked } = askedOn(name)(url);
    const other = {
      ...provider,
      scope: `${provider.scope} (other)`,
      settings: { ...provider.settings, model: "other" },
    };
    return {
      ...{ ...asked, provider, otherProviders: { other } },
      route: ({ turn }) =>
        Number.parseInt(sha256Hex(saidWithoutIds(turn)).slice(0, 8), 16) % 2 === 0 ? provider : other,
    };
  };

/** An engine that would be noticed if it were used. */
function idleEngine(layers: readonly Layer[], create: (baseURL: string) => Asked, mode?: Mode): Engine {
  const fail = (): never => {
    throw new Error("a counterfactual reached outside");
  };
  const conversations = { create: fail, newestItems: fail, deleteItem: fail };
  const asked = create("http://127.0.0.1:9/v1");
  const idleOf = (provider: Provider): Provider => ({ ...provider, infer: fail, conversations });
  const how = { middleware: layers, maxSteps: 12, ...(mode === undefined ? {} : { mode }) };
  const tools = (asked.tools ?? []).map((each) => ({ ...each, run: fail }));
  const provider = idleOf(asked.provider);
  const { route, otherProviders: { other } = {} } = asked;
  if (route === undefined || other === undefined) return createEngine({ provider, tools, ...how });
  const idleOther = idleOf(other);
  return createEngine({
    ...{ provider, tools, ...how, otherProviders: { other: idleOther } },
    route: (question) => (route(question) === other ? idleOther : provider),
  });
}

/** Members that only a server can make. */
const sealed: ReadonlySet<string> = new Set(["encrypted_content", "signature", "thoughtSignature"]);

/** Bodies with what a server makes up (ids of answers, items, interactions and sessions, and what it sealed) replaced by the number of its first mention. */
function numbered(bodies: readonly JsonValue[]): readonly JsonValue[] {
  const numbers = new Map<string, string>();
  const numberOf = (text: string): string => {
    if (!numbers.has(text)) numbers.set(text, `made up ${numbers.size}`);
    return numbers.get(text) ?? text;
  };
  const walk = (value: JsonValue, name: string): JsonValue => {
    const isMadeUp = typeof value === "string" && (/^((resp|rs|msg|fc|v1)_|session-)/.test(value) || sealed.has(name));
    if (isMadeUp) return numberOf(value);
    if (isJsonList(value)) return value.map((each) => walk(each, ""));
    if (!isJsonObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([member, each]) => [member, walk(each ?? null, member)]));
  };
  return bodies.map((body) => walk(body, ""));
}

/** What a counterfactual came to, and the bodies that it would have sent. */
async function whatIf(store: TurnlogStore, engine: Engine, without: string | null) {
  const memory = createMemoryStore();
  const kept = { ...memory, close: async () => undefined, [Symbol.asyncDispose]: async () => undefined };
  const answer = await playOtherwise(store.conversation("cnv_played"), engine, { without }, () => kept);
  const bodies: string[] = [];
  let view = conversationView.initial("");
  for await (const recorded of new TurnlogStore(memory).conversation("cnv_played").history()) {
    view = conversationView.apply(view, recorded);
    if (recorded.event.type === "InferenceRequested") bodies.push(rebuildRequest(view, recorded, codecs).bodyText);
  }
  return { ...answer, bodies };
}

const bodiesOf = ({ requests }: ReferenceServer): readonly string[] =>
  requests.filter(({ path }) => !path.startsWith("/v1/conversations")).map(({ bodyText }) => bodyText);

/** Texts of requests, equal where they are byte-equal but for what the server made up. */
const comparable = (bodies: readonly string[]): readonly string[] =>
  numbered(bodies.map((body): JsonValue => jsonOf(body))).map((body) => JSON.stringify(body));

function jsonOf(text: string): JsonValue {
  const value: JsonValue = z.json().parse(JSON.parse(text));
  return value;
}

const routed: readonly DialectName[] = ["responses", "chat", "anthropic-threads"];
const played: readonly (readonly [string, DialectName, (url: string) => Asked, readonly number[]])[] = [
  // The reference server has no front for the toy.
  ...byWire(stacks).flatMap(([name, stacks]) => (name === "toy" ? [] : [[name, name, askedOn(name), stacks] as const])),
  ...routed.map(
    (name) => [`routed, ${name}`, name, routedOn(name), stacks.slice(0, Math.ceil(stacks.length / 10))] as const,
  ),
];

test.each(played)(
  `asks what a real run without the layer asks, to the byte, for random stacks: %s (from seed ${firstSeed})`,
  {
    timeout: 600_000,
  },
  async (_, name, create, stacks) => {
    const { says = (said: ScriptedAnswer) => said }: Dialect = dialects[name];
    let different = 0;
    for (const seed of stacks) {
      let n = 0;
      const answer = (): ScriptedAnswer => {
        n += 1;
        return says(answerOf(seed, n));
      };
      const random = createRandom(seed);
      const drawn = Array.from({ length: 2 + (seed % 3) }, (_, index) => editing(`layer-${index}`, seed + index));
      const edits = drawn.toSpliced(random.below(drawn.length + 1), 0, broughtLayer(random, "brought", null));
      const out = edits[seed % edits.length]?.name ?? "";
      // Of a run that broke off the next one tells the model.
      const layers = seed % 6 === 2 ? [breakOff, ...edits] : edits;
      const interruptionNote = true;
      await using recording = await startReferenceServer({ answer, chat: "vllm", seed: "recording" });
      const { store, conversation } = await play({
        ...create(recording.baseUrl),
        middleware: layers,
        interruptionNote,
      });
      // A layer may take it out again.
      const notes = (await eventsOf(conversation)).filter(
        ({ event, actor }) => event.type === "BlockAppended" && actor.kind === "engine",
      );
      const isTold = notes.length > 0;
      expect({ seed, isTold }).toEqual({ seed, isTold: layers !== edits });
      n = 0;
      await using other = await startReferenceServer({ answer, chat: "vllm", seed: "other" });
      // In its place one that hands on what it gets, so that the others draw what they drew.
      const middleware = layers.map((layer) => (layer.name === out ? idle(out) : layer));
      await play({ ...create(other.baseUrl), middleware, interruptionNote });
      const asked = await whatIf(store, idleEngine(layers, create), out);
      expect({ seed, unknown: asked.unknown, steps: asked.bodies.length }).toEqual({
        ...{ seed, unknown: null, steps: other.requests.length },
      });
      const toldIn = (bodies: readonly string[]) => bodies.map((body) => dialects[name].told?.(body) ?? body);
      const [wouldAsk, didAsk] = [asked.bodies, bodiesOf(other)].map(toldIn).map(comparable);
      expect({ seed, bodies: wouldAsk }).toEqual({ seed, bodies: didAsk });
      different += asked.steps.some(({ isSame }) => !isSame) ? 1 : 0;
      const unchanged = await whatIf(store, idleEngine(layers, create), null);
      expect({ seed, bodies: toldIn(unchanged.bodies) }).toEqual({ seed, bodies: toldIn(bodiesOf(recording)) });
      expect(unchanged.steps.every(({ isSame }) => isSame)).toBe(true);
    }
    // A layer that nobody would miss shows nothing.
    if (isTelling) expect(different).toBeGreaterThan(stacks.length / 2);
  },
);

const inObjects = seeds(3, 1_000, 15);

test(`in conversation objects asks what was asked, and without a layer says what a real run without it says, for ${inObjects.length} random stacks (from seed ${firstSeed})`, {
  timeout: 600_000,
}, async () => {
  const mode = "conversation";
  let [different, cuts] = [0, 0];
  for (const seed of inObjects) {
    let n = 0;
    const answer = (): ScriptedAnswer => {
      n += 1;
      return answerOf(seed, n);
    };
    // An edit near the end is one that an object survives.
    const layers = [late("layer-0", seed), seed % 3 === 0 ? editing("layer-1", seed) : late("layer-1", seed + 1)];
    const out = `layer-${seed % 2}`;
    await using recording = await startReferenceServer({ answer, chat: "vllm", seed: "recording" });
    const { store } = await play({ ...askedOnResponses(recording.baseUrl), middleware: layers, mode });
    cuts += recording.requests.filter(({ method }) => method === "DELETE").length;
    const unchanged = await whatIf(store, idleEngine(layers, askedOnResponses, mode), null);
    expect({ seed, bodies: unchanged.bodies }).toEqual({ seed, bodies: bodiesOf(recording) });
    expect(unchanged.steps.every(({ isSame }) => isSame)).toBe(true);
    n = 0;
    await using other = await startReferenceServer({ answer, seed: "other" });
    const real = await play({
      ...askedOnResponses(other.baseUrl),
      middleware: layers.map((layer) => (layer.name === out ? idle(out) : layer)),
      mode,
    });
    const asked = await whatIf(store, idleEngine(layers, askedOnResponses, mode), out);
    expect({ seed, unknown: asked.unknown, steps: asked.bodies.length }).toEqual({
      ...{ seed, unknown: null, steps: bodiesOf(other).length },
    });
    // Which items an object would have held the log does not tell, so that another object may have been asked than the real run asked.
    expect({ seed, says: saidIn(asked.turn) }).toEqual({ seed, says: saidIn(await real.conversation.turn()) });
    different += asked.steps.some(({ isSame }) => !isSame) ? 1 : 0;
  }
  if (!isTelling) return;
  expect(different).toBeGreaterThan(inObjects.length / 2);
  expect(cuts).toBeGreaterThan(0);
});

/** A layer that changes one of the newest messages now and then, for good. */
const late = (name: string, habit: number): Layer =>
  defineMiddleware({ name, version: "1.0.0" }, (next) => (given, ctx) => {
    const dice = Math.floor(ctx.random() * 1_000) + habit;
    const block = given.at(given.length - 1 - (dice % 4));
    const isEdited = dice % 3 === 0 && (block?.kind === "user" || block?.kind === "tool_result");
    return next(isEdited ? given.replace(block, block.withText(`${name} says ${dice}`)) : given);
  });

const saidIn = ({ blocks }: Turn): readonly string[] => blocks.map(({ kind, text }) => `${kind} ${text}`);
