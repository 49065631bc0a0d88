import { expect, test } from "vitest";
import * as z from "zod";
import { jsonSchemaOf } from "../../../src/engine/ports/schema.ts";
import { outputFormat } from "../../../src/providers/codec/output-format.ts";

const format = (schema: z.ZodType) => outputFormat(jsonSchemaOf("test: output", schema));
const node: z.ZodType = z.object({
  name: z.string(),
  get inner() {
    return z.array(node);
  },
});

test.each([
  ["objects of required members", z.object({ a: z.string(), b: z.object({ c: z.number() }) })],
  ["lists, choices and nulls", z.object({ a: z.array(z.object({ b: z.enum(["x"]) })), c: z.string().nullable() })],
  ["schemas that name themselves", node],
  ["an object without members", z.object({})],
])("%s are held to strictly, with their objects closed", (_, schema) => {
  const { strict, schema: told } = format(schema);
  expect(strict).toBe(true);
  const open = JSON.stringify(told).split('"type":"object"').length - 1;
  expect(JSON.stringify(told).split('"additionalProperties":false')).toHaveLength(open + 1);
});

test.each([
  ["optional members", z.object({ a: z.string().optional() })],
  ["defaults", z.object({ a: z.string().default("b") })],
  ["further members", z.looseObject({ a: z.string() })],
  ["records", z.object({ a: z.record(z.string(), z.number()) })],
  ["keywords that servers do not hold to", z.object({ a: z.array(z.string()).max(3), b: z.string().min(3) })],
])("%s guide the model, by the schema as it is", (_, schema) => {
  expect(format(schema)).toMatchObject({ strict: false, schema: jsonSchemaOf("test: output", schema) });
});
