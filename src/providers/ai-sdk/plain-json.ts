import { type JsonObject, type JsonValue, objectOf, setMember, withLiterals } from "../../base/json.ts";

/**
 * The output of a model object as JSON: bytes become base64, dates ISO 8601, addresses texts. Values without a JSON form, and values nested
 * too deep, are left out.
 */
export function plainJson(value: unknown): JsonObject {
  return objectOf(plainValue(value, maxLevels));
}

const maxLevels = 200;

function plainValue(value: unknown, levels: number): JsonValue | undefined {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isFinite(value) ? withLiterals(value) : null;
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? undefined : value.toISOString();
  if (value instanceof URL) return value.href;
  if (typeof value !== "object" || levels === 0) return undefined;
  if (Array.isArray(value)) return value.map((item: unknown) => plainValue(item, levels - 1) ?? null);
  const members: Record<string, JsonValue> = {};
  for (const [name, member] of Object.entries(value)) {
    const plain = plainValue(member, levels - 1);
    if (plain !== undefined) setMember(members, name, plain);
  }
  return members;
}
