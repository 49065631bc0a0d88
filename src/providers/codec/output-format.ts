import { isJsonList, isJsonObject, type JsonObject, type JsonValue, objectOf } from "../../base/json.ts";

/**
 * The output format for answers that match a JSON Schema. In strict mode, servers accept a subset of JSON Schema only: an object must list
 * all its properties as required and allow no others. Any other schema is sent without strict mode and only guides the model. An object
 * schema without `additionalProperties` counts as closed, because validation drops additional members anyway.
 */
export function outputFormat(schema: JsonObject): JsonObject {
  const closed = closedSchema(schema);
  const format = { type: "json_schema", name: "output" };
  return closed === null ? { ...format, schema, strict: false } : { ...format, schema: closed, strict: true };
}

/** The keywords that a strict schema may have. */
const strictKeywords = new Set([
  ...["type", "enum", "const", "title", "description", "required", "additionalProperties", "$ref"],
  ...["pattern", "format", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
  ...["minItems", "maxItems", "properties", "items", "anyOf", "$defs"],
]);

/** The schema with its objects closed; null if strict mode does not support it. */
function closedSchema(schema: JsonValue): JsonObject | null {
  if (!isJsonObject(schema) || Object.keys(schema).some((name) => !strictKeywords.has(name))) return null;
  const { properties, items, anyOf, $defs, additionalProperties = false, required } = schema;
  if (additionalProperties !== false) return null;
  const isObject = schema["type"] === "object";
  const names = Object.keys(objectOf(properties));
  if (isObject && !(isJsonList(required) ? names.every((name) => required.includes(name)) : names.length === 0))
    return null;
  const inner = {
    properties: closedMembers(properties),
    items: items === undefined ? undefined : closedSchema(items),
    anyOf: isJsonList(anyOf) ? whole(anyOf.map(closedSchema)) : undefined,
    $defs: closedMembers($defs),
  };
  if (Object.values(inner).includes(null)) return null;
  const said = Object.fromEntries(Object.entries(inner).filter(([, value]) => value !== undefined));
  return { ...schema, ...said, ...(isObject ? { additionalProperties: false } : {}) };
}

function closedMembers(members: JsonValue | undefined): JsonObject | null | undefined {
  if (!isJsonObject(members)) return undefined;
  const closed = Object.entries(members).map(([name, schema]) => [name, closedSchema(schema ?? null)] as const);
  return closed.some(([, schema]) => schema === null) ? null : Object.fromEntries(closed);
}

const whole = (schemas: readonly (JsonObject | null)[]): readonly JsonObject[] | null =>
  schemas.every((schema) => schema !== null) ? schemas : null;
