import { nearestName } from "../base/nearest-name.ts";
import { TurnlogError } from "../base/turnlog-error.ts";
import type { EngineOptions } from "../engine/options/engine.ts";

/**
 * The stack with a layer replaced by one that passes everything on. Frames keep their numbers, so that the layers inside
 * generate the same ids and numbers as before, and get the same answers.
 *
 * @throws {TurnlogError} `layer-not-found` if there is no layer of that name.
 */
export function withoutLayer(layers: EngineOptions["layers"], name: string): EngineOptions["layers"] {
  const index = layers.findIndex((layer) => layer.name === name);
  if (index === -1) throw layerNotFound(name, layers);
  return layers.map((layer, place) => (place === index ? { ...layer, handle: (next) => (turn) => next(turn) } : layer));
}

function layerNotFound(name: string, layers: EngineOptions["layers"]): TurnlogError {
  const names = layers.map((layer) => layer.name);
  const near = nearestName(name, names);
  const instead = near === null ? `it has ${names.join(", ") || "none"}` : `did you mean '${near}'?`;
  return new TurnlogError("layer-not-found", `there is no layer ${name} in the stack: ${instead}`);
}
