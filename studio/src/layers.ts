import { keep, kept } from "./kept.ts";

const place = "turnlog-hues";

/** How many hues there are beside the engine's own. */
const mostHues = 5;

/** How many names are kept: a studio on the same port may have shown other stores. */
const mostKept = 30;

/** The names of the engine's own layers. */
const own = new Set(["tool-loop"]);

/** The names of the other layers in the order of first sight, also on pages that were opened before. */
const seen: string[] = keptNames();

export function noteLayers(layers: readonly { readonly name: string; readonly isOwn: boolean }[]): void {
  for (const { name, isOwn } of layers) hueOf(name, isOwn);
}

/** The class that colours what a layer did: `l1` for the engine's own, and `l2` to `l6`. */
export function hueOf(name: string, isOwn = false): string {
  if (isOwn) own.add(name);
  if (own.has(name)) return "l1";
  let index = seen.indexOf(name);
  if (index < 0) {
    index = seen.push(name) - 1;
    keep(place, JSON.stringify(seen));
  }
  return `l${2 + (index % mostHues)}`;
}

function keptNames(): string[] {
  try {
    const names: unknown = JSON.parse(kept(place) ?? "[]");
    return Array.isArray(names) && names.length <= mostKept ? names.filter((name) => typeof name === "string") : [];
  } catch {
    return [];
  }
}
