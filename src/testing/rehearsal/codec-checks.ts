import assert from "node:assert/strict";
import { canonicalJson } from "../../base/canonical-json.ts";
import { messageOf } from "../../base/error-message.ts";
import { isJsonList, isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../base/json.ts";
import type { Block } from "../../domain/block.ts";
import { blockFromJson, blockJsonSchema, blockToJson } from "../../domain/block-json.ts";
import { plainNames } from "../../domain/block-names.ts";
import type { Repair } from "../../domain/events/inference-events.ts";
import { blockIdSchema } from "../../domain/ids.ts";
import { toolResult, user } from "../../domain/make-block.ts";
import { Turn } from "../../domain/turn.ts";
import { shapedBlocks } from "../../engine/planning/build-request.ts";
import { checkAnswer } from "../../engine/planning/check-answer.ts";
import { blocksOf } from "../../engine/planning/response.ts";
import { shape } from "../../engine/planning/shape.ts";
import { type Answer, abortedResult, type Codec, type RequestParts, type Settings } from "../../engine/ports/codec.ts";
import { firstOtherDigest } from "../../engine/recorded/checked-fold.ts";
import type { Check } from "../contracts/check.ts";

/** The samples for checking a codec. */
export type CodecSamples = {
  /** Answers from the server: of each kind that it has, including calls. */
  readonly answers: readonly JsonObject[];
  /** Settings of a request. Default: `{ model: "any" }`. */
  readonly settings?: Settings;
  /** Requests that the codec once encoded, with the exact body, which must never change for a codec's name. */
  readonly requests?: readonly { readonly parts: RequestParts; readonly body: string }[];
};

/** The promises of every codec; use it like `eventStoreChecks`: `for (const { name, run } of codecChecks(codec, samples)) test(name, run)`. */
export function codecChecks(
  codec: Codec,
  { answers, settings = { model: "any" }, requests = [] }: CodecSamples,
): readonly Check[] {
  if (answers.length === 0)
    throw new TypeError("codecChecks: answers is an empty list: give one of each kind, one with a call");
  const read = (answer: JsonObject): Answer => {
    const made = codec.readAnswer(answer, { inferenceId, settings, capabilities: {} });
    checkAnswer(made);
    return made;
  };
  const ofAnswers = (what: string, check: (answer: JsonObject) => void): Check[] =>
    answers.map((answer, n) => ({
      name: `${what}: answer ${n}`,
      async run() {
        check(answer);
      },
    }));
  const encode = (turn: Turn, repairs: readonly Repair[]): string =>
    codec.encodeRequest({
      settings,
      input: shapedBlocks(turn, 0, repairs, { codec, scope, itemIds: false }),
      ...{ anchor: null, transport: "json" },
    });

  /** A codec may throw its own error for an answer that it cannot read, which ends the run. Any other error is a bug. */
  const isRead = (answer: JsonObject): boolean => {
    try {
      read(answer);
      return true;
    } catch (error) {
      if (error instanceof TypeError || error instanceof assert.AssertionError) throw error;
      return false;
    }
  };
  const mustGiveBack = (answer: JsonObject): void => {
    const made = read(answer);
    const told = codec.writeAnswer({ ...made, blocks: stored(made) });
    const [came, given] = [parseJson(canonicalJson(answer)), parseJson(canonicalJson(told))];
    const lost = firstOtherDigest(came, given, "answer");
    const keep =
      "return in readAnswer's rest what the blocks do not hold, or keep it beside its block with keepResidue";
    const what =
      lost === null
        ? "writeAnswer leaves out or adds a member that is null"
        : `${lost.field} came as ${shown(lost.recorded)}, and writeAnswer gives ${shown(lost.replayed)}`;
    assert.deepEqual(given, came, `${what}: ${keep}`);
  };

  return [
    {
      name: "has a family, and a name that is the family and a version",
      async run() {
        assert.match(codec.name, /^.+\/[^/]+$/, `the name ${codec.name} has no version: end it as ${codec.name}/1`);
        assert.ok(
          codec.name.startsWith(codec.family),
          `the name ${codec.name} does not begin with the family ${codec.family}: leave the family out to have it derived`,
        );
      },
    },
    {
      name: "offers tools beside those that settings have, and tells their names",
      async run() {
        const tools = [{ name: "look-up", description: "Looks up.", parameters: { type: "object" } }];
        const offered = codec.offer(settings, { tools, capabilities: {} });
        assert.deepEqual(
          codec.offeredTools(offered),
          [...codec.offeredTools(settings), "look-up"],
          "the tool look-up was offered, but offeredTools does not list it after the tools of the settings: fix offer or offeredTools",
        );
      },
    },
    {
      name: "answers a call that nobody answers",
      async run() {
        const aborted = abortedResult("call_1");
        const named = codec.pairs.isResult(aborted) ? codec.pairs.keyOf(aborted) : null;
        assert.equal(
          named,
          "call_1",
          "pairs does not match the result that the engine gives a call to that call: fix isResult or keyOf",
        );
      },
    },
    ...ofAnswers("gives an answer back as it came, order of members aside", (answer) => {
      mustGiveBack(answer);
    }),
    ...ofAnswers(
      "reads an answer whose members are missing, null, empty, texts or unknown, and gives it back",
      (answer) => {
        for (const { how, answer: untidy } of untidied(answer)) {
          try {
            if (isRead(untidy)) mustGiveBack(untidy);
          } catch (error) {
            throw new assert.AssertionError({ message: `where ${how}: ${messageOf(error)}` });
          }
        }
      },
    ),
    ...ofAnswers("says what may be done with what an answer gives to continue from", (answer) => {
      const { anchor } = read(answer);
      if (anchor === undefined) return;
      const known = Object.keys(codec.anchors);
      assert.ok(known.includes(anchor.kind), `its anchor is a ${anchor.kind}; codec.anchors names ${known.join(", ")}`);
    }),
    ...ofAnswers("has the engine ask on where the server paused", (answer) => {
      if (read(answer).isPaused !== true) return;
      const mayPause = codec.mayPause?.(settings) ?? false;
      assert.ok(
        mayPause,
        "isPaused is true, but mayPause is not, so an engine without tools would not ask again: give both",
      );
    }),
    ...ofAnswers("sends a whole answer and its results as they stand, and the same bytes each time", (answer) => {
      if (!read(answer).isComplete) return;
      const blocks = stored(read(answer));
      const turn = Turn.of([first, ...blocks, ...resultsOf(codec, blocks)]);
      const repairs = shape(turn, 0, shaping(codec, settings));
      mustNeed(repairs, "prompt", "an answer that is whole, with a result for each of its calls,");
      assert.equal(
        encode(turn, repairs),
        encode(turn, repairs),
        "encodeRequest returns other bytes when it is called again: it must not depend on a clock, randomness or a counter",
      );
    }),
    ...ofAnswers("takes a call that nobody answers, answered in its place", (answer) => {
      if (!read(answer).isComplete) return;
      const turn = Turn.of([first, ...stored(read(answer)), last]);
      const repairs = shape(turn, 0, shaping(codec, settings));
      mustNeed(repairs, "answer", "an answer that is whole, with calls that nobody answers,");
      parseJson(encode(turn, repairs));
    }),
    ...requests.map(({ parts, body }, n) => ({
      name: `encodes request ${n} as it always has, byte for byte`,
      async run() {
        const given = codec.encodeRequest(parts);
        const other = `${codec.name} writes other bytes than before: give the new bytes another codec name, and keep the old codec beside it`;
        assert.equal(given, body, other);
      },
    })),
  ];
}

/** Unchanged content needs no repairs, except `restate` and the one named in `but`. */
function mustNeed(repairs: readonly Repair[], but: string, what: string): void {
  const other = repairs.find(({ rule }) => rule !== but && rule !== "restate");
  const why = other === undefined ? "" : `${other.rule} (${JSON.stringify(other.detail)})`;
  assert.equal(
    other,
    undefined,
    `${what} is sent with the repair ${why}, not unchanged: the server would reject it or lose it`,
  );
}

const shown = (value: JsonValue): string => {
  const text = JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
};

const scope = "codec-checks";
const inferenceId = "inf_0000000000000001";
const shaping = (codec: Codec, settings: Settings) => ({
  ...{ codec, scope, settings, itemIds: false, heldFrom: 0 },
  quarantined: new Set<string>(),
});
const blockId = (n: number) => blockIdSchema.parse(`blk_${String(n).padStart(16, "0")}`);
const first = user("Please.").withId(blockId(1));
const last = user("Well?").withId(blockId(2));

/** The blocks of an answer, as read back from the log. */
function stored(answer: Answer): readonly Block[] {
  let ids = 100;
  const newBlockId = () => {
    ids += 1;
    return blockId(ids);
  };
  const blocks = blocksOf(answer, { scope, inferenceId, isMasked: false, newBlockId, names: plainNames });
  return blocks.map((block) => blockFromJson(blockJsonSchema.parse(parseJson(JSON.stringify(blockToJson(block))))));
}

/** A result for each call. */
const resultsOf = ({ pairs }: Codec, blocks: readonly Block[]): readonly Block[] =>
  blocks.flatMap((block, n) => {
    const call = pairs.callOf(block);
    if (call === null || call.mayStayOpen) return [];
    const result = toolResult({ callId: call.key, output: "done", type: block.type });
    return pairs.answers(result, call) ? [result.withId(blockId(1_000 + n))] : [];
  });

/** An answer as a server that is less strict than its documentation might send it, and how it differs. */
type UntidyAnswer = { readonly how: string; readonly answer: JsonObject };

/**
 * Variants of an answer: with each of its members in turn absent, null and empty, with its numbers as texts, and with an unknown member
 * in each object.
 */
function* untidied(answer: JsonObject): Generator<UntidyAnswer> {
  for (const { path, value } of membersOf(answer, [])) {
    // An absent list item would only make the list shorter.
    if (typeof path.at(-1) === "number") continue;
    const named = path.join(".");
    const otherwise: readonly (readonly [string, JsonValue | undefined])[] = [
      ["absent", undefined],
      ["null", null],
      ...(typeof value === "string" && value !== "" ? ([["empty", ""]] as const) : []),
      ...(typeof value === "number" ? ([["a text", String(value)]] as const) : []),
      ...(isJsonObject(value) ? ([["with a stranger", { ...value, x_unknown: [null] }]] as const) : []),
    ];
    for (const [how, said] of otherwise)
      yield { how: `${named} is ${how}`, answer: changed(answer, path, said) as JsonObject };
  }
}

type Path = readonly (string | number)[];

function* membersOf(value: JsonValue, at: Path): Generator<{ readonly path: Path; readonly value: JsonValue }> {
  const members: readonly (readonly [string | number, JsonValue | undefined])[] = isJsonList(value)
    ? value.map((each, index) => [index, each] as const)
    : isJsonObject(value)
      ? Object.entries(value)
      : [];
  for (const [name, member] of members) {
    if (member === undefined) continue;
    const path = [...at, name];
    yield { path, value: member };
    yield* membersOf(member, path);
  }
}

function changed(value: JsonValue, [name, ...rest]: Path, to: JsonValue | undefined): JsonValue {
  if (name === undefined) return to ?? null;
  const change = (member: JsonValue): JsonValue | undefined => (rest.length === 0 ? to : changed(member, rest, to));
  if (isJsonList(value))
    return value.flatMap((each, index) => {
      const said = index === name ? change(each) : each;
      return said === undefined ? [] : [said];
    });
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).map(([key, member]) => [key, key === name ? change(member ?? null) : member]);
  return Object.fromEntries(entries.filter(([, member]) => member !== undefined)) as JsonObject;
}
