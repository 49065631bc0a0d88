import { expect, test } from "vitest";
import { nearestName } from "../../src/base/nearest-name.ts";
import {
  anything,
  checkChoice,
  checkFlag,
  checkFunction,
  checkOptions,
  checkWhole,
  choiceOf,
  kindOf,
  optionsOf,
  required,
  textOf,
} from "../../src/base/options.ts";

const names = ["provider", "tools", "middleware", "baseURL", "apiKey", "key"];

test.each([
  ["midleware", "middleware"],
  ["provdier", "provider"],
  ["tool", "tools"],
  ["apikey", "apiKey"],
  ["api_key", "apiKey"],
  ["base-url", "baseURL"],
  ["baseUrl", "baseURL"],
  ["kye", "key"],
  ["k", null],
  ["abcdef", null],
  ["", null],
  ["x".repeat(100_000), null],
])("of a mistyped '%.20s' the nearest name is %s", (typed, meant) => {
  expect(nearestName(typed, names)).toBe(meant);
});

test("a swap of two letters is one mistake, so it is nearer than two others", () => {
  expect(nearestName("forward", ["foxxard", "fowrard"])).toBe("fowrard");
});

test("options that a function has are taken, whatever their value", () => {
  expect(() => checkOptions("run", { key: undefined, tools: null }, { key: true, tools: true })).not.toThrow();
});

test.each([
  [{ kye: 1 }, "run has no option 'kye': did you mean 'key'?"],
  [{ other: 1 }, "run has no option 'other': give 'key' or 'tools'"],
  [{ toString: 1 }, "run has no option 'toString': give 'key' or 'tools'"],
  [[], "run takes an object of options, not a list"],
  ["key", "run takes an object of options, not a text"],
  [null, "run takes an object of options, not null"],
])("%j as options is refused in one sentence", (given, message) => {
  expect(() => checkOptions("run", given, { key: true, tools: true })).toThrow(new TypeError(message));
});

test.each([
  ["atuo", "chain is 'atuo': did you mean 'auto'?"],
  ["always", "chain is 'always': give 'auto' or 'never'"],
  [true, "chain is a boolean: give 'auto' or 'never'"],
])("%j as one of a few words is refused with them", (given, message) => {
  expect(() => checkChoice("chain", given, ["auto", "never"])).toThrow(new TypeError(message));
});

test.each([
  [undefined, "undefined"],
  [Number.NaN, "NaN"],
  ["", "an empty text"],
  ["secret", "a text"],
  [[], "a list"],
  [{}, "an object"],
  [Promise.resolve(), "a promise"],
  [() => undefined, "a function"],
  [Symbol("s"), "a symbol"],
])("what %s is, in words that tell no content", (value, kind) => {
  expect(kindOf(value)).toBe(kind);
});

type Drawn = {
  readonly name: string;
  readonly width?: number;
  readonly style?: "plain" | "bold";
  readonly isOpen?: boolean;
  readonly onEnd?: () => void;
  readonly context?: unknown;
};

const drawn = optionsOf<Drawn>({
  name: required(textOf("what it is called")),
  ...{ width: checkWhole, style: choiceOf("plain", "bold"), isOpen: checkFlag, onEnd: checkFunction },
  context: anything,
});

test.each([
  [{ nam: "a" }, "draw has no option 'nam': did you mean 'name'?"],
  [{}, "draw: name is undefined: give what it is called"],
  [{ name: "a", width: 0.5 }, "draw: width is 0.5: give a whole number of at least 1"],
  [{ name: "a", style: "blod" }, "draw: style is 'blod': did you mean 'bold'?"],
  [{ name: "a", isOpen: null }, "draw: isOpen is null: give true or false"],
  [{ name: "a", onEnd: "later" }, "draw: onEnd is a text: give a function"],
  [{ name: 1, width: 0 }, "draw: name is 1: give what it is called"],
  [[], "draw takes an object of options, not a list"],
])("options %j are refused by their table, the first in its order", (given, message) => {
  expect(() => drawn.check("draw", given)).toThrow(message);
});

test("an option that is undefined is absent, and an unread one may be anything", () => {
  expect(() => drawn.check("draw", { name: "a", width: undefined, onEnd: undefined, context: null })).not.toThrow();
});

test("the values of options within an option are named by their place", () => {
  expect(() => drawn.check("draw's frame", { name: "" }, "draw: frame.")).toThrow(
    "draw: frame.name is an empty text: give what it is called",
  );
  expect(() => drawn.check("draw's frame", { width: 1, with: 2 }, "draw: frame.")).toThrow(
    "draw's frame has no option 'with': did you mean 'width'?",
  );
});

test("the compiler asks for every option, and for a check of its type", () => {
  type Two = { readonly isOpen?: boolean; readonly style?: "plain" | "bold" };
  const tables = [
    // @ts-expect-error: an option is missing.
    optionsOf<Two>({ isOpen: checkFlag }),
    // @ts-expect-error: a check of another type.
    optionsOf<Two>({ isOpen: checkWhole, style: choiceOf("plain") }),
    // @ts-expect-error: a word that the option has not.
    optionsOf<Two>({ isOpen: checkFlag, style: choiceOf("plain", "thin") }),
    // @ts-expect-error: a function where none is taken.
    optionsOf<Two>({ isOpen: checkFunction, style: choiceOf("plain") }),
  ];
  expect(tables.map(({ table }) => Object.keys(table))).toContainEqual(["isOpen", "style"]);
});
