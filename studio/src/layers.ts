/** Hues by the names of layers, in the order of first sight; the engine's own layer is always the first. */
const hues = new Map<string, number>();

/** How many hues there are beside the engine's own. */
const mostHues = 5;

export function noteLayers(layers: readonly { readonly name: string; readonly isOwn: boolean }[]): void {
  for (const { name, isOwn } of layers) hueOf(name, isOwn);
}

/** The class that colours what a layer did: `l1` to `l6`. */
export function hueOf(name: string, isOwn = false): string {
  const known = hues.get(name);
  if (known !== undefined) return `l${known}`;
  const seen = [...hues.values()].filter((hue) => hue !== 1).length;
  const hue = isOwn || name === "tool-loop" ? 1 : 2 + (seen % mostHues);
  hues.set(name, hue);
  return `l${hue}`;
}
