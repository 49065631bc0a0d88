import { type EventPaths, eventPaths } from "./event-paths.ts";

/** A place in an event's data: what is at it, and the listed places below it. */
export type EventPlace = {
  /** Redaction of a `json` event shows its name, because it or something in it is kept or named. */
  readonly isNamed: boolean;
  /** Redaction of a `json` event shows it. */
  readonly isKept: boolean;
  /** It is in the first line of an event that is written as lines; with `isWhole`, everything below it too. */
  readonly isFact: boolean;
  readonly isWhole: boolean;
  /** It is content inside of a fact that is whole, or contains some. */
  readonly hides: boolean;
  readonly isProof: boolean;
  /** Its content is a line of its own. */
  readonly isLine: boolean;
  readonly members: ReadonlyMap<string, EventPlace>;
  readonly items: EventPlace | null;
};

/** The places of an event's data; null for a type or a version that this turnlog does not know. */
export const placesOf = (type: string, version: number): EventPlace | null =>
  version <= (newestVersions.get(type) ?? 1) ? (places().get(type) ?? null) : null;

/** Of the types that have more versions than one. */
const newestVersions: ReadonlyMap<string, number> = new Map([["SettingsDeclared", 2]]);

/** The paths as a tree of places. */
export function placeTree(paths: Partial<EventPaths>): EventPlace {
  const root = newPlace();
  const mark = (listed: readonly string[] = [], note: (place: Growing) => void): void => {
    for (const path of listed) note(placeAt(root, path));
  };
  for (const path of [...(paths.named ?? []), ...(paths.kept ?? [])]) placeAt(root, path, true);
  mark(paths.kept, (place) => {
    place.isKept = true;
    place.isFact = true;
  });
  mark(paths.facts, (place) => {
    place.isFact = true;
    place.isWhole = true;
  });
  for (const path of paths.content ?? []) hideInFact(root, path);
  mark(paths.proof, (place) => {
    place.isFact = false;
    place.isProof = true;
  });
  mark(paths.lines, (place) => {
    place.isLine = true;
  });
  return root;
}

/** From the fact down, each place on the path is whole, so that its other members are facts. */
function hideInFact(root: Growing, path: string): void {
  const steps = path.split(".");
  let isInside = false;
  for (let length = 1; length < steps.length; length += 1) {
    const place = placeAt(root, steps.slice(0, length).join("."));
    isInside ||= place.isWhole;
    if (isInside) Object.assign(place, { isFact: true, isWhole: true, hides: true });
  }
  Object.assign(placeAt(root, path), { isFact: false, hides: true });
}

type Growing = {
  -readonly [Member in keyof EventPlace]: EventPlace[Member] extends boolean
    ? boolean
    : Member extends "members"
      ? Map<string, Growing>
      : Growing | null;
};

const newPlace = (): Growing => ({
  ...{ isNamed: false, isKept: false, isFact: false, isWhole: false, hides: false, isProof: false, isLine: false },
  ...{ members: new Map(), items: null },
});

function placeAt(root: Growing, path: string, isNamed = false): Growing {
  let place = root;
  if (path === "") return place;
  for (const step of path.replaceAll("[]", ".[]").split(".")) {
    const next: Growing = (step === "[]" ? place.items : place.members.get(step)) ?? newPlace();
    if (step === "[]") place.items = next;
    else place.members.set(step, next);
    place = next;
    place.isNamed ||= isNamed;
  }
  return place;
}

let built: ReadonlyMap<string, EventPlace> | undefined;

/** Built on first use, because most commands write no event. */
const places = (): ReadonlyMap<string, EventPlace> => {
  built ??= new Map(Object.entries(eventPaths).map(([type, paths]) => [type, placeTree(paths)]));
  return built;
};
