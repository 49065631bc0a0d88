import type { Adjustments, RecordedRunOptions } from "../../domain/events/run-events.ts";
import type { Settings } from "../ports/codec.ts";
import type { Provider } from "../ports/provider.ts";
import type { EngineOptions } from "./engine.ts";
import type { RoutedProvider } from "./route.ts";
import { checkSettings } from "./settings-size.ts";
import { toolLoop } from "./tool-loop.ts";

/**
 * The engine with the options of a run: a new run, or the recorded options of a resumed or replayed one.
 *
 * @throws {TypeError} if the provider does not take these settings.
 * @throws {SettingsTooLargeError} if the settings are too large to store.
 */
export function engineWith(engine: EngineOptions, { settings = {}, maxSteps }: RecordedRunOptions): EngineOptions {
  const asked: Adjustments = { ...engine.adjustments, ...settings };
  const limited = maxSteps === undefined ? {} : { layers: limitedSteps(engine.layers, maxSteps) };
  const others = [...(engine.routing?.others ?? [])].map(
    ([name, other]) => [name, { ...other, ...askedWith(engine, other.provider, asked) }] as const,
  );
  const routing = engine.routing === null ? null : { ...engine.routing, others: new Map(others) };
  return { ...engine, ...limited, routing, ...askedWith(engine, engine.provider, asked) };
}

/** The engine as it asks another one of its providers. */
export const engineOn = (engine: EngineOptions, other: RoutedProvider): EngineOptions => ({ ...engine, ...other });

/**
 * The provider's settings with these adjustments.
 *
 * @throws {TypeError} if its codec cannot express them.
 */
export function adjusted({ codec, settings, name }: Provider, adjustments: Adjustments): Settings {
  if (Object.keys(adjustments).length === 0) return settings;
  if (codec.adjust !== undefined) return codec.adjust(settings, adjustments);
  const names = Object.keys(adjustments).join(", ");
  throw new TypeError(
    `the provider ${name} does not support settings of a run (${names}): its codec ${codec.name} has no adjust`,
  );
}

/** The adjusted settings of one provider: for a run's requests until one of its tools is called, and after that. */
function askedWith({ tools }: EngineOptions, provider: Provider, asked: Adjustments) {
  const { toolChoice, ...later } = asked;
  const isForced = toolChoice !== undefined && toolChoice !== "auto" && toolChoice !== "none";
  const settings = adjusted(provider, asked);
  checkSettings(provider.codec.offer(settings, { tools, capabilities: provider.capabilities }));
  return { settings, laterSettings: isForced ? adjusted(provider, later) : settings };
}

const limitedSteps = (layers: EngineOptions["layers"], maxSteps: number): EngineOptions["layers"] =>
  layers.map((layer) => (layer.isEngine === true ? toolLoop(layer.tools ?? [], { maxSteps }) : layer));
