import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { expect, test } from "vitest";
import { isJsonList, isJsonObject, type JsonValue, omitMembers } from "../../../src/base/json.ts";
import { conversationEventSchema } from "../../../src/domain/events/event.ts";
import { firstSeed, isLong } from "../../support/cases.ts";

const root = join(import.meta.dirname, "../../..");
const golden = join(root, "test/golden/events");

type Parsing = { readonly safeParse: (value: unknown) => { readonly success: boolean } };

/** The schema of events, over the schemas that a page has in the place of zod. */
async function pageSchema(): Promise<Parsing> {
  await using made = await rolldown({
    ...{ cwd: root, input: "src/domain/events/event.ts", platform: "browser", external: /^node:/ },
    // What compiles validators is replaced in a page, too.
    onLog: () => undefined,
    resolve: { alias: { zod: join(root, "studio/src/offline/schemas.ts") } },
  });
  const { output } = await made.generate({ format: "esm" });
  const url = `data:text/javascript,${encodeURIComponent(output[0].code)}`;
  // The module is that of the sources, with other schemas.
  const module = (await import(url)) as { readonly conversationEventSchema: Parsing };
  return module.conversationEventSchema;
}

/** The same value with one place changed: left out, replaced by another kind of value, or with one member more. */
function* changed(value: JsonValue): Iterable<JsonValue> {
  for (const other of [null, 1, -1, 0.5, "", "x", true, [], {}]) yield other;
  if (isJsonList(value)) {
    for (const [index, item] of value.entries()) for (const each of changed(item)) yield value.with(index, each);
    return;
  }
  if (!isJsonObject(value)) return;
  yield { ...value, oneMore: 1 };
  for (const [name, member = null] of Object.entries(value)) {
    yield omitMembers(value, new Set([name]));
    for (const each of changed(member)) yield { ...value, [name]: each };
  }
}

test("a page accepts and refuses the same events as zod does", async () => {
  const page = await pageSchema();
  const files = readdirSync(golden).filter((file) => file.endsWith(".json"));
  const events = files.map((file) => JSON.parse(readFileSync(join(golden, file), "utf8")) as JsonValue);
  const every = isLong ? 1 : 7;
  let [accepted, refused, place] = [0, 0, firstSeed];
  for (const event of events)
    for (const each of [event, ...changed(event)]) {
      place += 1;
      if (each !== event && place % every !== 0) continue;
      const expected = conversationEventSchema.safeParse(each).success;
      expect(page.safeParse(each).success, JSON.stringify(each)).toBe(expected);
      if (expected) accepted += 1;
      else refused += 1;
    }
  expect(Math.min(accepted, refused)).toBeGreaterThan(files.length / 2);
});
