import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { isJsonObject, type JsonObject } from "../../src/base/json.ts";
import { sha256Hex } from "../../src/base/sha256.ts";
import { anchorSchema } from "../../src/domain/anchor.ts";
import { Block } from "../../src/domain/block.ts";
import { blockFromJson, blockJsonSchema } from "../../src/domain/block-json.ts";
import { abortedResult } from "../../src/engine/ports/codec.ts";
import { codecs } from "../../src/providers/codecs.ts";
import { encodeBody, encodeFrame } from "../../src/providers/responses/request-body.ts";
import { responsesCodec } from "../../src/providers/responses/responses-codec.ts";

const goldenFolder = join(import.meta.dirname, "../golden/requests");
const objectSchema = z.custom<JsonObject>(isJsonObject);
const goldenSchema = z.strictObject({
  parts: z.strictObject({
    settings: objectSchema,
    input: z.array(objectSchema),
    previousResponseId: z.string().nullable(),
    stream: z.boolean(),
    /** Of a frame, what it says of its lane; absent, it is a body. */
    lane: objectSchema.exactOptional(),
    details: objectSchema.exactOptional(),
  }),
  body: z.string(),
});

/** Of a codec that is given more than items can say: its blocks. */
const blocksGoldenSchema = z.strictObject({
  parts: z.strictObject({
    settings: objectSchema,
    blocks: z.array(
      z.strictObject({
        kind: z.enum(["system", "user", "assistant", "reasoning", "tool_call", "tool_result", "other"]),
        payload: objectSchema,
        residue: objectSchema.exactOptional(),
        standIn: z.literal(true).exactOptional(),
      }),
    ),
    transport: z.string(),
  }),
  body: z.string(),
});

/** Of a codec that reads where its blocks came from: as the log has them. */
const recordedGoldenSchema = z.strictObject({
  parts: z.strictObject({
    settings: objectSchema,
    blocks: z.array(blockJsonSchema),
    anchor: anchorSchema.nullable(),
    transport: z.string(),
    details: objectSchema.exactOptional(),
  }),
  body: z.string(),
});

const readGolden = (folder: string, file: string) =>
  goldenSchema.parse(JSON.parse(readFileSync(join(goldenFolder, folder, file), "utf8")));
const bodyEncoders = new Map([
  [
    "openai-responses-1",
    ({ lane, ...parts }: z.infer<typeof goldenSchema>["parts"]) =>
      lane === undefined ? encodeBody(parts) : encodeFrame(lane, parts),
  ],
]);

const wire = { scope: "golden" };

/** One folder for each released encoder, its slash as a dash. They are never changed, only added to. */
const allGoldens = readdirSync(goldenFolder).flatMap((folder) =>
  readdirSync(join(goldenFolder, folder)).map((file) => [folder, file] as const),
);
/** Those that say more than items can. */
const ofOwnBlocks = (folder: string): boolean => folder.startsWith("google-gemini-");
const ofRecordedBlocks = (folder: string): boolean => /^(anthropic|google-interactions)-/.test(folder);
const goldens = allGoldens.filter(([folder]) => !ofOwnBlocks(folder) && !ofRecordedBlocks(folder));
const recordedGoldens = allGoldens.filter(([folder]) => ofRecordedBlocks(folder));
const blocksGoldens = allGoldens.filter(([folder]) => ofOwnBlocks(folder));

/** The others write blocks only, and breakpoints are set where blocks are written. */
const ofItems = goldens.filter(([folder, file]) => bodyEncoders.has(folder) && file !== "breakpoints.json");

describe("every released encoder", () => {
  test.each(ofItems)("still writes the bytes of %s/%s", (folder, file) => {
    const { parts, body } = readGolden(folder, file);
    expect(bodyEncoders.get(folder)?.(parts)).toBe(body);
  });

  // No block has a member that is null.
  const ofBlocks = goldens.filter(([, file]) => file !== "prototype-member.json");
  test.each(ofBlocks)("writes the bytes of %s/%s for the blocks that its items are", (folder, file) => {
    const codec = codecs.get(folder.replace(/-(\d+)$/, "/$1"));
    const { parts, body } = readGolden(folder, file);
    const input = parts.input.map((item) => ({ block: responsesCodec.decodeItem(item, wire), withId: true }));
    const { settings, previousResponseId, stream, lane, details = lane } = parts;
    const anchor = previousResponseId === null ? null : { kind: "response", id: previousResponseId };
    const transport = lane !== undefined ? "websocket" : stream ? "sse" : "json";
    expect(codec?.encodeRequest({ settings, input, anchor, transport, details })).toBe(body);
  });

  test.each(blocksGoldens)("still writes the bytes of %s/%s for its blocks", (folder, file) => {
    const { parts, body } = blocksGoldenSchema.parse(
      JSON.parse(readFileSync(join(goldenFolder, folder, file), "utf8")),
    );
    const input = parts.blocks.map(({ kind, payload, residue, standIn = false }) => ({
      block: new Block({ id: null, kind, payload, wire: residue === undefined ? null : { ...wire, residue } }),
      ...{ withId: false, standIn },
    }));
    const codec = codecs.get(folder.replace(/-(\d+)$/, "/$1"));
    expect(codec?.encodeRequest({ settings: parts.settings, input, anchor: null, transport: parts.transport })).toBe(
      body,
    );
  });

  test.each(recordedGoldens)("still writes the bytes of %s/%s for recorded blocks", (folder, file) => {
    const golden: unknown = JSON.parse(readFileSync(join(goldenFolder, folder, file), "utf8"));
    const { parts, body } = recordedGoldenSchema.parse(golden);
    const { blocks, ...asked } = parts;
    const input = blocks.map((block) => ({ block: blockFromJson(block), withId: false }));
    const codec = codecs.get(folder.replace(/-(\d+)$/, "/$1"));
    expect(codec?.encodeRequest({ ...asked, input })).toBe(body);
  });

  // A body that was changed together with its encoder would not be noticed else. As `sha256sum` prints it.
  test("has golden requests that never change, and none is without its digest", () => {
    const read = (path: string): string => readFileSync(join(goldenFolder, path), "utf8");
    const paths = allGoldens.map((parts) => parts.join("/")).toSorted();
    const digests = ["../own-words.json", ...paths].map((path) => `${sha256Hex(read(path))}  ${path}\n`);
    expect(digests.join("")).toBe(read("../requests.sha256"));
  });

  test("still says what it said by itself: that a call was aborted, and what the user says behind a Turn that cannot end", () => {
    const said = ({ kind, payload }: Block) => ({ kind, payload });
    const words = [...codecs].map(([name, codec]) => {
      const prompt = codec.prompt === undefined ? null : said(codec.prompt.block);
      return [name, { aborted: said(abortedResult("call_1")), prompt }];
    });
    const golden: unknown = JSON.parse(readFileSync(join(goldenFolder, "../own-words.json"), "utf8"));
    expect(Object.fromEntries(words)).toEqual(golden);
  });

  test("has golden requests", () => {
    const folders = new Set(allGoldens.map(([folder]) => folder));
    expect([...codecs.keys()].map((name) => name.replace("/", "-")).filter((name) => !folders.has(name))).toEqual([]);
  });
});

describe("openai-responses/1", () => {
  const parts = { settings: { model: "m" }, input: [], previousResponseId: null, stream: false };

  test("leaves out what is not there", () => {
    expect(encodeBody(parts)).toBe('{"model":"m","input":[]}');
    expect(encodeBody({ ...parts, settings: { model: "m", tools: undefined } })).toBe('{"model":"m","input":[]}');
  });

  test("keeps the caller's order of settings, and puts the context after them", () => {
    const body = encodeBody({
      ...parts,
      settings: { zeta: 1, model: "m", alpha: 2 },
      previousResponseId: "resp_1",
      stream: true,
    });
    expect(body).toBe('{"zeta":1,"model":"m","alpha":2,"previous_response_id":"resp_1","input":[],"stream":true}');
  });

  test("refuses settings that are not settings", () => {
    for (const name of ["input", "previous_response_id", "stream"]) {
      expect(() => encodeBody({ ...parts, settings: { [name]: "x" } })).toThrow(name);
    }
  });
});
