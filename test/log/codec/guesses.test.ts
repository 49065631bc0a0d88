import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { objectOf, parseJson } from "../../../src/base/json.ts";
import { type Sha256, sha256Hex, sha256OfPair } from "../../../src/base/sha256.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { emptyContext } from "../../../src/domain/context.ts";
import { namedIdText } from "../../../src/domain/ids.ts";
import { user } from "../../../src/domain/make-block.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { erasedLine } from "../../../src/log/codec/lines.ts";
import { ephemeral } from "../../../src/middleware/ephemeral.ts";
import { exportBundle } from "../../../src/operations/transfer/carry-bundle.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import { cases } from "../../support/cases.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const count = cases(60, 1_000, 200);
const pins = Array.from({ length: count }, (_, n) => String(1_000 + ((n * 7_919) % 9_000)));
const words = (what: string, pin: string): string => `${what}: my PIN is ${pin}.`;
/** Every so many PINs, one is in a long text too. */
const longEach = 10;
const filler = "long ".repeat(14_000);

const include = ["reasoning.encrypted_content"];

/** Every digest of what was said with a PIN that a reader of the log could compute, if names were not keyed. */
const guesses: Readonly<Record<string, (pin: string) => readonly Sha256[]>> = {
  message: (pin) => [
    user(words("message", pin)).digest,
    sha256OfPair(emptyContext, user(words("message", pin)).digest),
  ],
  settings: (pin) => [sha256Hex(JSON.stringify({ model: "scripted", instructions: words("settings", pin), include }))],
  configuration: (pin) => [
    sha256Hex(JSON.stringify({ at: "end", blocks: [user(words("shown", pin)).digest] })),
    namedIdText(`turnlog/insertion/v1\nephemeral 0 ${user(words("shown", pin)).digest}`),
  ],
  actor: (pin) => [sha256Hex(words("actor", pin)), sha256Hex(`turnlog/actor/v1\n${words("actor", pin)}`)],
  long: (pin) => [
    sha256Hex(`${words("long", pin)}${filler}`),
    sha256Hex(JSON.stringify({ index: 0, of: 4, text: `${words("long", pin)}${filler}`.slice(0, 20 * 1024) })),
  ],
};

/** A run for each PIN, which says it in every place. */
async function sayAll(store: TurnlogStore): Promise<void> {
  const provider = scripted(() => "answer");
  const say = async (pin: string, n: number): Promise<void> => {
    const conversation = store.conversation(`cnv_${n}`);
    await conversation.append(words("message", pin), { actor: { kind: "user", name: words("actor", pin) } });
    if (n % longEach === 0) await conversation.append(`${words("long", pin)}${filler}`);
    const middleware = [ephemeral([user(words("shown", pin))])];
    await conversation.run(createEngine({ provider, middleware }), { instructions: words("settings", pin) });
  };
  await Promise.all(pins.map(say));
}

/**
 * What is left in a file when all content lines, snapshots, values of rows and naming keys are gone: the envelopes, facts, names of streams, and keys of
 * rows. Of a `json` event's data, the digests.
 */
function leftIn(path: string): string {
  using database = new DatabaseSync(path);
  const rowsOf = (columns: string, table: string) => database.prepare(`SELECT ${columns} FROM ${table}`).all();
  const events = rowsOf("*", "events").map(({ data, ...row }) => ({ ...row, data: factsOf(String(data)) }));
  const rows = rowsOf("key", "view_rows");
  expect(rows.length).toBeGreaterThan(0);
  return JSON.stringify([rowsOf("*", "streams"), events, rows, rowsOf("*", "view_places")]);
}

function factsOf(data: string): string {
  const [facts = "", ...lines] = data.split("\n");
  return facts.includes("\t")
    ? [facts, ...lines.map(erasedLine)].join("\n")
    : (facts.match(/[0-9a-f]{21,}/g) ?? []).join(" ");
}

/** Of each kind of guess, how many PINs a text gives away: whole digests, and beginnings of them as ids have. */
function foundIn(text: string): Readonly<Record<string, number>> {
  const told = new Set(text.match(/[0-9a-f]{21,}/g)?.map((digits) => digits.slice(0, 21)));
  const counted = Object.entries(guesses).map(([kind, digestsOf]) => {
    const isFound = (pin: string): boolean =>
      text.includes(words(kind, pin)) || digestsOf(pin).some((digest) => told.has(digest.slice(0, 21)));
    return [kind, pins.filter(isFound).length];
  });
  return Object.fromEntries(counted) as Readonly<Record<string, number>>;
}

const none = { message: 0, settings: 0, configuration: 0, actor: 0, long: 0 };
const all = { message: count, settings: count, configuration: count, actor: count, long: Math.ceil(count / longEach) };

test.each([
  ["lines", none],
  ["json", all],
] as const)(
  "of PINs in messages, instructions, layers, names and long texts in %s, the log gives away %j",
  async (encoding, expected) => {
    const path = temporaryFolder().file("said.db");
    let bundle = "";
    {
      await using store = new TurnlogStore(await openSqliteStore(path), { encoding });
      await sayAll(store);
      await store.list();
      for await (const line of exportBundle(store, { redact: true })) bundle += line;
    }
    expect(foundIn(leftIn(path))).toEqual(expected);
    const redacted = foundIn(bundle);
    // The redacted bundle of a `json` conversation hides the person's name, and the hash of the name is another one.
    expect(encoding === "lines" ? redacted : { ...redacted, actor: count }).toEqual(expected);
    expect(objectOf(parseJson(bundle.slice(0, bundle.indexOf("\n"))))["isRedacted"]).toBe(true);
  },
);
