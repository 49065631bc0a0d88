import * as z from "zod";
import { messageOf } from "../../base/error-message.ts";
import { checkJson, freezeJson } from "../../base/frozen-json.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { kindOf } from "../../base/options.ts";

/**
 * A schema of any library that speaks Standard Schema (zod, valibot, arktype and others; https://standardschema.dev), as far as
 * it is used here.
 */
export type StandardSchema<Input = unknown, Output = Input> = {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => Validation<Output> | Promise<Validation<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    /** Standard JSON Schema: the schema as JSON, where its library can say it. */
    readonly jsonSchema?: { readonly input: (options: { readonly target: string }) => Record<string, unknown> };
  };
};

export type Validation<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | {
      readonly issues: readonly { readonly message: string; readonly path?: readonly IssuePathSegment[] | undefined }[];
    };

export type IssuePathSegment = PropertyKey | { readonly key: PropertyKey };

/** What of a value is not as its schema says, and where: the names and indexes that lead there. */
export type SchemaIssue = { readonly message: string; readonly path: readonly PropertyKey[] };

/** The value as the schema gives it (defaults, transformations), or what is wrong with it. */
export async function validate<Output>(
  schema: StandardSchema<unknown, Output>,
  value: unknown,
): Promise<{ readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly SchemaIssue[] }> {
  const validated = await schema["~standard"].validate(value);
  if (validated.issues === undefined) return { value: validated.value };
  // Libraries give lists and paths of their own classes, which hold much more.
  const issues = Array.from(validated.issues, ({ message, path = [] }) => ({
    message,
    path: Array.from(path, (segment) => (typeof segment === "object" ? segment.key : segment)),
  }));
  return { issues };
}

/** Issues in lines, each with its place. */
export const issuesText = (issues: readonly SchemaIssue[]): string => z.prettifyError({ issues });

/**
 * What a model is told of a schema: the JSON Schema that was given beside it, else its library's own.
 *
 * @param place - The option that holds the schema, with its function.
 * @throws {TypeError} for what is no schema, and for one that has no JSON Schema.
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
  // A round trip drops hidden members of a library.
  const json = JSON.parse(JSON.stringify(said)) as JsonObject;
  freezeJson(json);
  return json;
}

/**
 * What a model is told of the answer that is wanted.
 *
 * @throws {TypeError} for what is no schema, has no JSON Schema, or is of no object.
 */
export function outputSchemaOf(where: string, schema: unknown): JsonObject {
  const json = jsonSchemaOf(
    `${where}: output`,
    schema,
    undefined,
    "have its library make a Standard JSON Schema of it",
  );
  if (json["type"] === "object") return json;
  throw new TypeError(`${where}: output is no object, and models give no other: wrap it in z.object({ … })`);
}

function checkSchema(place: string, given: unknown): asserts given is StandardSchema {
  const isObject = (typeof given === "object" && given !== null) || typeof given === "function";
  const standard: unknown = isObject ? Reflect.get(given, "~standard") : undefined;
  if (typeof standard === "object" && standard !== null && "validate" in standard) return;
  const instead = "give z.object({ … }), or a schema of another library that speaks Standard Schema";
  throw new TypeError(`${place} is ${kindOf(given)}, and no schema: ${instead}`);
}

function ownJsonSchema(place: string, schema: StandardSchema, otherwise: string): Record<string, unknown> {
  const { jsonSchema, vendor } = schema["~standard"];
  try {
    if (jsonSchema !== undefined) return jsonSchema.input({ target: "draft-2020-12" });
  } catch (cause) {
    throw new TypeError(`${place} has no JSON Schema that a model could be told: ${messageOf(cause)}`, { cause });
  }
  throw new TypeError(`${place} is a schema of ${vendor} that says no JSON Schema: ${otherwise}`);
}
