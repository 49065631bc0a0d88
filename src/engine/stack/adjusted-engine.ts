import type { Adjustments, RecordedRunOptions } from "../../domain/events/run-events.ts";
import type { Settings } from "./codec.ts";
import type { EngineOptions } from "./engine.ts";
import type { Provider } from "./provider.ts";
import type { RoutedProvider } from "./route.ts";
import { checkSettings } from "./settings-size.ts";
import { toolLoop } from "./tool-loop.ts";

/**
 * The engine as a run of these options uses it: one that begins, or one that is taken up or replayed, by what its log has.
 *
 * @throws {TypeError} where the provider cannot be asked so.
 * @throws {SettingsTooLargeError} when the settings are too much to be stored.
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
 * What a provider is asked, adjusted.
 *
 * @throws {TypeError} where its codec cannot say this.
 */
export function adjusted({ codec, settings, name }: Provider, adjustments: Adjustments): Settings {
  if (Object.keys(adjustments).length === 0) return settings;
  if (codec.adjust !== undefined) return codec.adjust(settings, adjustments);
  const names = Object.keys(adjustments).join(", ");
  throw new TypeError(
    `the provider ${name} takes no settings of a run (${names}): its codec ${codec.name} has no adjust`,
  );
}

/** What one of an engine's providers is asked, adjusted: in the first request of a run, and once a tool of it was called. */
function askedWith({ tools }: EngineOptions, provider: Provider, asked: Adjustments) {
  const { toolChoice, ...later } = asked;
  const isForced = toolChoice !== undefined && toolChoice !== "auto" && toolChoice !== "none";
  const settings = adjusted(provider, asked);
  checkSettings(provider.codec.offer(settings, { tools, capabilities: provider.capabilities }));
  return { settings, laterSettings: isForced ? adjusted(provider, later) : settings };
}

const limitedSteps = (layers: EngineOptions["layers"], maxSteps: number): EngineOptions["layers"] =>
  layers.map((layer) => (layer.isEngine === true ? toolLoop(layer.tools ?? [], { maxSteps }) : layer));
