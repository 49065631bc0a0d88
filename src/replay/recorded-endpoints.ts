import type { EngineOptions } from "../engine/options/engine.ts";
import type { Routing } from "../engine/options/route.ts";
import type { Capabilities } from "../engine/ports/capabilities.ts";
import type { Provider } from "../engine/ports/provider.ts";
import type { EventReader } from "../log/codec/event-log.ts";
import { readSoundHistory } from "../log/history/folded-history.ts";
import type { RecordedRun } from "./recorded-runs.ts";

/** The endpoints of a router's providers, by name. Other runs supply those of providers that a run did not ask. */
export async function recordedRoutes(reader: EventReader, stream: string, to: number): Promise<Map<string, string>> {
  const scopes = new Map<string, string>();
  for await (const { event } of readSoundHistory(reader, stream, to)) {
    if (event.type !== "InferenceRequested" || event.data.route === undefined) continue;
    scopes.set(event.data.route, event.data.scope);
  }
  return scopes;
}

/** The providers, each at its recorded endpoint. The router chooses again, among the providers that it knows. */
export function atRecordedEndpoints(
  engine: EngineOptions,
  run: RecordedRun,
  routes: ReadonlyMap<string, string>,
): Pick<EngineOptions, "provider" | "routing"> {
  const requests = run.events.map(({ event }) => event).filter((event) => event.type === "InferenceRequested");
  const recorded = new Map<Provider, Provider>();
  const known = new Map<Provider, Provider>();
  const at = (provider: Provider, scope: string): Provider => {
    // What the run learned, it learns again.
    const first = requests.find(({ data }) => data.scope === scope)?.data.decision.capabilities;
    const endpoint = recordedEndpoint(provider, scope, first ?? provider.capabilities);
    recorded.set(provider, endpoint);
    known.set(endpoint, provider);
    return endpoint;
  };
  const provider = at(engine.provider, run.started.provider.scope);
  if (engine.routing === null) return { provider, routing: null };
  const { choose } = engine.routing;
  const others = [...engine.routing.others].map(([name, other]) => {
    const scope = routes.get(name) ?? other.provider.scope;
    return [name, { ...other, provider: at(other.provider, scope) }] as const;
  });
  const routing: Routing = {
    others: new Map(others),
    choose(question) {
      const failed = question.failed.map((each) => ({ ...each, provider: known.get(each.provider) ?? each.provider }));
      const chosen = choose({ ...question, failed });
      return chosen === null ? null : (recorded.get(chosen) ?? chosen);
    },
  };
  return { provider, routing };
}

/** The provider at its recorded endpoint. It answers from the recording and sends nothing. */
function recordedEndpoint(provider: Provider, scope: string, capabilities: Capabilities): Provider {
  const { name, codec, transport, settings, systemAs = "input" } = provider;
  const infer = (): Promise<never> => Promise.reject(new Error("a replay does not ask a provider"));
  // Its capabilities say whether it has any.
  const conversations = { create: infer, newestItems: infer, deleteItem: infer };
  const { configured = [], fallbackTransport } = provider;
  const fallback = fallbackTransport === undefined ? {} : { fallbackTransport };
  const place = { name, scope, codec, transport, ...fallback, systemAs };
  const endpoint = { ...place, capabilities, configured, settings, infer, conversations };
  return provider.waitFor === undefined ? endpoint : { ...endpoint, waitFor: infer };
}
