import * as z from "zod";
import { isJsonObject } from "./json.ts";

type Check = (value: unknown) => boolean;

/**
 * Compiles a schema into a fast check of JSON values, for data that is read by the thousand: it checks every member as the schema
 * does, and copies nothing. The schema accepts every value that the check accepts, and leaves it unchanged. The check rejects
 * everything that it has no rule for, so a rejection only means that the schema has to decide. It is compiled at the first value,
 * so that loading a schema costs nothing more.
 */
export function compileValidator<T>(schema: z.ZodType<T>): (value: unknown) => value is T {
  let check: Check | undefined;
  return (value): value is T => {
    check ??= checkOf(schema);
    return check(value);
  };
}

const refuse: Check = () => false;

function checkOf(schema: unknown): Check {
  if (schema instanceof z.ZodObject) return objectCheck(schema);
  if (schema instanceof z.ZodRecord) return recordCheck(schema);
  if (schema instanceof z.ZodDiscriminatedUnion) return discriminatedCheck(schema);
  if (schema instanceof z.ZodUnion) {
    const checks = schema.options.map(checkOf);
    return (value) => checks.some((check) => check(value));
  }
  if (schema instanceof z.ZodArray) {
    const [element, keepsRules] = [checkOf(schema.element), allRules(schema.def.checks)];
    return (value) => Array.isArray(value) && keepsRules(value) && value.every((item) => element(item));
  }
  if (schema instanceof z.ZodNullable) {
    const inner = checkOf(schema.unwrap());
    return (value) => value === null || inner(value);
  }
  if (schema instanceof z.ZodString && !(schema instanceof z.ZodStringFormat)) {
    const keepsRules = allRules(schema.def.checks);
    return (value) => typeof value === "string" && keepsRules(value);
  }
  if (schema instanceof z.ZodNumber) {
    // `z.int()` is itself a rule.
    const rules: readonly unknown[] = schema.def.checks ?? [];
    const keepsRules = allRules(schema instanceof z.ZodNumberFormat ? [schema, ...rules] : rules);
    return (value) => Number.isFinite(value) && keepsRules(value);
  }
  if (schema instanceof z.ZodBoolean) return (value) => typeof value === "boolean";
  if (schema instanceof z.ZodLiteral) return oneOf(schema.values);
  if (schema instanceof z.ZodEnum) return oneOf(schema.options);
  if (schema instanceof z.ZodCustom && schema.def.checks === undefined) {
    const { fn } = schema.def;
    return (value) => fn(value) === true;
  }
  return refuse;
}

/** Checks a strict object: its members, and no others. */
function objectCheck(schema: z.ZodObject): Check {
  if (!(schema.def.catchall instanceof z.ZodNever) || schema.def.checks !== undefined) return refuse;
  const members = new Map<string, { readonly check: Check; readonly isRequired: boolean }>();
  for (const [name, member] of Object.entries(schema.shape)) {
    const isRequired = !(member instanceof z.ZodExactOptional);
    members.set(name, { isRequired, check: checkOf(isRequired ? member : member.unwrap()) });
  }
  const requiredCount = [...members.values()].filter(({ isRequired }) => isRequired).length;
  return (value) => {
    if (!isRecord(value)) return false;
    let missing = requiredCount;
    for (const name in value) {
      const member = members.get(name);
      if (member?.check(value[name]) !== true) return false;
      if (member.isRequired) missing -= 1;
    }
    return missing === 0;
  };
}

/** Checks an object whose members have any names; the schema would leave out one called `__proto__`. */
function recordCheck({ keyType, valueType, def }: z.ZodRecord): Check {
  const isText = keyType instanceof z.ZodString && !(keyType instanceof z.ZodStringFormat);
  if (!isText || (keyType.def.checks ?? []).length > 0 || def.checks !== undefined) return refuse;
  const check = checkOf(valueType);
  return (value) =>
    isRecord(value) && Object.entries(value).every(([name, member]) => name !== "__proto__" && check(member));
}

function discriminatedCheck({ options, def }: z.ZodDiscriminatedUnion): Check {
  if (def.checks !== undefined) return refuse;
  const checkByValue = new Map<unknown, Check>();
  for (const option of options) {
    const literal: unknown = option instanceof z.ZodObject ? option.shape[def.discriminator] : undefined;
    if (!(literal instanceof z.ZodLiteral)) continue;
    const check = checkOf(option);
    for (const value of literal.values) checkByValue.set(value, check);
  }
  return (value) => isRecord(value) && checkByValue.get(value[def.discriminator])?.(value) === true;
}

function allRules(rules: readonly unknown[] = []): Check {
  const checks = rules.map(ruleOf);
  const [only, ...others] = checks;
  if (only === undefined) return () => true;
  return others.length === 0 ? only : (value) => checks.every((check) => check(value));
}

/** The check for a rule of a schema beyond its type. */
function ruleOf(rule: unknown): Check {
  if (rule instanceof z.core.$ZodCheckRegex) {
    const { pattern } = rule._zod.def;
    return pattern.global || pattern.sticky ? refuse : (value) => typeof value === "string" && pattern.test(value);
  }
  if (rule instanceof z.core.$ZodCheckMinLength) {
    const { minimum } = rule._zod.def;
    return (value) => (typeof value === "string" || Array.isArray(value)) && value.length >= minimum;
  }
  if (rule instanceof z.core.$ZodCheckNumberFormat && rule._zod.def.format === "safeint") return Number.isSafeInteger;
  if (rule instanceof z.core.$ZodCheckGreaterThan) {
    const { value: bound, inclusive } = rule._zod.def;
    return (value) => typeof value === "number" && (inclusive ? value >= Number(bound) : value > Number(bound));
  }
  return refuse;
}

function oneOf(values: Iterable<unknown>): Check {
  const known = new Set(values);
  return (value) => known.has(value);
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => isJsonObject(value);
