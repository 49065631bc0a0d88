import { createHmac } from "node:crypto";
import { choiceOf, kindOf, meant, optionsOf, textOf } from "../base/options.ts";
import { type DetectorKind, detectorByKind, detectorOf, type FindValues, type FoundSpan } from "./detectors.ts";

/**
 * What the model sees in place of a value, and whether the client gets the value back:
 * `restore` names it `[email-3fa9c1]` and restores it; `redact` writes `[email]`; `mask` keeps the last characters; `hash` writes a keyed
 * digest, the same in every conversation; `block` ends the run before the request.
 */
export type RedactStrategy = "restore" | "redact" | "mask" | "hash" | "block";

export type RedactDetector = {
  /** Part of the placeholder: lower-case letters, digits and hyphens. */
  readonly kind: string;
  /** Finds the values. It may be left out for a kind that turnlog finds itself. */
  readonly find?: FindValues;
  /** Default: the strategy of the layer. */
  readonly strategy?: RedactStrategy;
};

export type RedactOptions = {
  /** Distinguishes two such layers of one stack, also in the log. */
  readonly name?: string;
  /** Raise the major version when a detector changes. */
  readonly version?: string;
  /** What to hide: kinds that turnlog finds itself, and detectors of your own. */
  readonly detect: readonly (DetectorKind | RedactDetector)[];
  /** Default: `restore`. */
  readonly strategy?: RedactStrategy;
  /** The key of `hash`, which needs one. Without the key, a digest does not confirm a guess of its value. */
  readonly key?: string;
};

const strategyOf = choiceOf<RedactStrategy>("restore", "redact", "mask", "hash", "block");
const detectorOptions = optionsOf<RedactDetector>({
  kind: textOf('a name for what it finds, such as "customer"'),
  find: (what, given) => {
    // The signature of a function cannot be checked before it is called.
    if (given instanceof RegExp || typeof given === "function") return given as never;
    throw new TypeError(`${what} is ${kindOf(given)}: give a RegExp, or a function that lists the values in a text`);
  },
  strategy: strategyOf,
});
const redactOptions = optionsOf<RedactOptions>({
  name: textOf("the layer's name in the log"),
  version: textOf('a version such as "1.0.0"'),
  detect: Object.assign(
    (what: string, given: unknown) => {
      // Its items are checked one by one.
      if (Array.isArray(given) && given.length > 0) return given as never;
      const what2 = Array.isArray(given) ? "an empty list" : kindOf(given);
      throw new TypeError(`${what} is ${what2}: give what to hide, such as ["email", "card"]`);
    },
    { isRequired: true } as const,
  ),
  strategy: strategyOf,
  key: textOf("a secret text"),
});

/** A detector with all that it needs. */
export type Detector = {
  readonly kind: string;
  readonly strategy: RedactStrategy;
  readonly find: (text: string) => readonly FoundSpan[];
};

/** The checked options. The `config` has no key, and none can be guessed from it. */
export function checkedRedaction(options: RedactOptions) {
  redactOptions.check("redact", options);
  const { name = "redact", version = "1.0.0", strategy = "restore", key } = options;
  const given = options.detect.map((each, index) => {
    const where = `redact: detect[${index}]`;
    const { kind, find, strategy: own = strategy } = detectorGiven(where, each);
    if (own === "hash" && key === undefined)
      throw new TypeError(`${where} has the strategy 'hash', which needs a key: give redact({ key }), a secret text`);
    return {
      kind,
      strategy: own,
      find,
      spans: find === undefined ? ownDetector(where, kind) : detectorOf(`${where}: find`, find),
    };
  });
  const detect = given.map(({ kind, strategy: own, find }) => ({
    ...{ kind, strategy: own },
    find: find instanceof RegExp ? String(find) : find === undefined ? "turnlog" : "function",
  }));
  const keyCheck = key === undefined ? null : createHmac("sha256", key).update("turnlog/redact/config").digest("hex");
  const detectors = given.map(({ kind, strategy: own, spans: find }): Detector => ({ kind, strategy: own, find }));
  return { name, version, config: { detect, keyCheck }, detectors, key };
}

function detectorGiven(where: string, given: unknown): RedactDetector {
  const detector: unknown = typeof given === "string" ? { kind: given } : given;
  detectorOptions.check(where, detector, `${where}: `);
  // The check has read every member; the kind, which it does not require, is checked here.
  const checked = detector as Partial<RedactDetector>;
  const { kind } = checked;
  if (kind === undefined || !/^[a-z][a-z\d-]*$/.test(kind))
    throw new TypeError(`${where}: kind is ${kind === undefined ? "undefined" : `'${kind}'`}: give lower-case letters`);
  return { ...checked, kind };
}

function ownDetector(where: string, kind: string): Detector["find"] {
  const known = Object.entries(detectorByKind).find(([name]) => name === kind);
  if (known !== undefined) return known[1];
  throw new TypeError(
    `${where}: turnlog has no detector '${kind}': ${meant(kind, Object.keys(detectorByKind))} Your own needs find`,
  );
}
