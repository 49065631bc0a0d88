import type { LayerDescription } from "../../domain/events/run-events.ts";

/**
 * Why a stack cannot go on with what another began, in words; null where it can. Layers are the same by name and major
 * version: a minor one promises to do the same with what was recorded.
 */
export function stackDifference(
  recorded: readonly Pick<LayerDescription, "name" | "version">[],
  given: readonly Pick<LayerDescription, "name" | "version">[],
): string | null {
  const before = recorded.map(nameOf);
  const now = given.map(nameOf);
  const missing = before.filter((name) => !now.includes(name));
  const added = now.filter((name) => !before.includes(name));
  if (missing.length > 0) return `its stack had ${missing.join(", ")}, and this one has not`;
  if (added.length > 0) return `its stack did not have ${added.join(", ")}`;
  return before.join(" ") === now.join(" ") ? null : `its layers stood in another order: ${before.join(" > ")}`;
}

const nameOf = ({ name, version }: Pick<LayerDescription, "name" | "version">): string =>
  `${name}@${version.split(".")[0] ?? version}`;
