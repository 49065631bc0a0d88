import * as z from "zod";
import { messageOf } from "../../base/error-message.ts";
import { checkJson, freezeJson } from "../../base/frozen-json.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { kindOf } from "../../base/options.ts";

/**
 * The part of Standard Schema that turnlog uses: a schema of zod, valibot, arktype, or any other library that implements it
 * (https://standardschema.dev).
 */
export type StandardSchema<Input = unknown, Output = Input> = {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => Validation<Output> | Promise<Validation<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    /** Standard JSON Schema: the schema as JSON, if its library can produce it. */
    readonly jsonSchema?: { readonly input: (options: { readonly target: string }) => Record<string, unknown> };
  };
};

export type Validation<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | {
      readonly issues: readonly { readonly message: string; readonly path?: readonly IssuePathSegment[] | undefined }[];
    };

export type IssuePathSegment = PropertyKey | { readonly key: PropertyKey };

/** How a value violates its schema, and where: the path of names and indexes. */
export type SchemaIssue = { readonly message: string; readonly path: readonly PropertyKey[] };

/** The value as the schema parses it (defaults, transformations), or the issues. */
export async function validate<Output>(
  schema: StandardSchema<unknown, Output>,
  value: unknown,
): Promise<{ readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly SchemaIssue[] }> {
  const validated = await schema["~standard"].validate(value);
  if (validated.issues === undefined) return { value: validated.value };
  // Some libraries return lists and paths of their own classes, which hold much more.
  const issues = Array.from(validated.issues, ({ message, path = [] }) => ({
    message,
    path: Array.from(path, (segment) => (typeof segment === "object" ? segment.key : segment)),
  }));
  return { issues };
}

/** The issues as lines of text, each with its path. */
export const issuesText = (issues: readonly SchemaIssue[]): string => z.prettifyError({ issues });

/**
 * The JSON Schema for the model: the one given beside the schema, or else its library's own.
 *
 * @param place - The option that holds the schema, with its function.
 * @throws {TypeError} if it is not a schema, or has no JSON Schema.
 */
export function jsonSchemaOf(
  place: string,
  schema: unknown,
  beside?: unknown,
  otherwise = "give one beside it, as jsonSchema",
): JsonObject {
  checkSchema(place, schema);
  if (beside !== undefined) checkJson(`${place.slice(0, place.lastIndexOf(" "))} jsonSchema`, beside);
  if (beside !== undefined && !isJsonObject(beside))
    throw new TypeError(`${place}: the jsonSchema beside it is ${kindOf(beside)}: give { type: "object", … }`);
  const { $schema: _, ...said } = beside ?? ownJsonSchema(place, schema, otherwise);
  // A round trip through JSON drops a library's hidden members.
  const json = JSON.parse(JSON.stringify(said)) as JsonObject;
  freezeJson(json);
  return json;
}

/**
 * The JSON Schema of an answer.
 *
 * @throws {TypeError} if it is not a schema, has no JSON Schema, or does not describe an object.
 */
export function outputSchemaOf(where: string, schema: unknown): JsonObject {
  const json = jsonSchemaOf(
    `${where}: output`,
    schema,
    undefined,
    "convert it to a Standard JSON Schema with its library",
  );
  if (json["type"] === "object") return json;
  throw new TypeError(`${where}: output is not an object, and models return only objects: wrap it in z.object({ … })`);
}

function checkSchema(place: string, given: unknown): asserts given is StandardSchema {
  const isObject = (typeof given === "object" && given !== null) || typeof given === "function";
  const standard: unknown = isObject ? Reflect.get(given, "~standard") : undefined;
  if (typeof standard === "object" && standard !== null && "validate" in standard) return;
  const instead = "give z.object({ … }), or a schema of another library that supports Standard Schema";
  throw new TypeError(`${place} is ${kindOf(given)}, not a schema: ${instead}`);
}

function ownJsonSchema(place: string, schema: StandardSchema, otherwise: string): Record<string, unknown> {
  const { jsonSchema, vendor } = schema["~standard"];
  try {
    if (jsonSchema !== undefined) return jsonSchema.input({ target: "draft-2020-12" });
  } catch (cause) {
    throw new TypeError(`${place} cannot be described to a model as JSON Schema: ${messageOf(cause)}`, { cause });
  }
  throw new TypeError(`${place} is a schema of ${vendor} without a JSON Schema: ${otherwise}`);
}
