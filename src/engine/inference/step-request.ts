import type { Actor } from "../../domain/actor.ts";
import { anchorName } from "../../domain/anchor.ts";
import type { Adjustments } from "../../domain/events/run-events.ts";
import type { Turn } from "../../domain/turn.ts";
import type { ServerContext, StreamRevision } from "../../projections/server-contexts/server-contexts.ts";
import type { LatestAnswer } from "../../projections/views/conversation-view.ts";
import { adjusted } from "../options/adjusted-engine.ts";
import { checkSettings } from "../options/settings-size.ts";
import { newRequest } from "../planning/build-request.ts";
import { asHeld, besideConversation, contextsOf, invalidationOf, provenanceOf, usedUp } from "../planning/contexts.ts";
import type { ContextLookup, PlanRequest } from "../planning/plan-request.ts";
import { requestSettings } from "../planning/request-settings.ts";
import type { Capabilities } from "../ports/capabilities.ts";
import type { Settings } from "../ports/codec.ts";
import type { CallScope } from "../session/call-scope.ts";
import type { LiveRun, RunSession } from "../session/session.ts";

/** A request to be made. */
export type StepRequest = {
  readonly outgoing: Turn;
  readonly scope: Pick<CallScope, "instructions">;
  /** The settings that a layer changes for a request beside the conversation, and the layer. */
  readonly aside?: { readonly settings: Adjustments; readonly actor: Actor };
};

/** The request of a frame: for the Turn that left the innermost layer, or for a layer beside the conversation. */
export type Step = StepRequest & { readonly frame: string; readonly scope: CallScope };

/** Builds the request of a step: from the Turn that left the innermost layer, with the settings of engine, Turn and layers. */
export function stepRequest(
  session: RunSession,
  { outgoing, scope, aside }: StepRequest,
  capabilities: Capabilities,
): PlanRequest {
  const { run, engine } = session;
  const { view } = run.fold;
  const { provider } = engine;
  // In this mode the log is complete by now: the object's contents were looked up there.
  const contexts = engine.chain.mode === "conversation" ? contextsOf(view) : contextLookup(run);
  const isAside = aside !== undefined;
  // A request beside the conversation continues from nothing, and would replace what the conversation continues from.
  const transport = isAside ? (provider.fallbackTransport ?? provider.transport) : session.transport;
  const connection = transport === provider.transport ? provider.connection?.(run.stream, capabilities) : undefined;
  // A provider may be an instance of a class, whose members a copy would not have.
  const { scope: endpointScope, codec, systemAs } = provider;
  const placed = systemAs === undefined ? {} : { systemAs };
  const common = {
    ...{
      endpoint: { scope: endpointScope, codec, ...placed, transport },
      connection,
      capabilities,
      policy: engine.chain,
      names: run.names,
    },
    provenance: provenanceOf(run.fold.turns, view),
    now: new Date(engine.clock()).toISOString(),
  };
  if (aside !== undefined) {
    const asked = { provider, tools: [], settings: adjusted(provider, aside.settings) };
    const settings = (instructions: readonly string[]) => checked(requestSettings(asked, capabilities, instructions));
    return newRequest(view, outgoing, { ...common, settings, ...besideConversation(contexts) });
  }
  const added = scope.instructions.map(({ text }) => text);
  return newRequest(view, outgoing, {
    ...common,
    settings: (instructions) => {
      const said = [...instructions, ...added];
      const settings = requestSettings({ ...engine, settings: settingsNow(session) }, capabilities, said);
      // The engine's own settings were checked when the engine was created.
      return said.length > 0 ? checked(settings) : settings;
    },
    contexts,
  });
}

function checked(settings: Settings): Settings {
  checkSettings(settings);
  return settings;
}

/** The settings from here on: once tools have started, the tool call that the caller required was made. */
export const settingsNow = ({ engine, run }: RunSession): Settings =>
  run.fold.turns.hasCalledTools ? engine.laterSettings : engine.settings;

/** The contexts of the log, and those that this run has received and the folds may not have yet. */
export function contextLookup(run: LiveRun): ContextLookup {
  const logged = contextsBefore(run);
  const { server, turns, view } = run.fold;
  return {
    ...logged,
    byTurn: (digest) => withThoseHere(logged.byTurn(digest), server.contexts.byTurn(digest)),
    ofTurn: (digest) => withThoseHere(logged.ofTurn(digest), server.contexts.ofTurn(digest)),
    ofInference: (inferenceId) => server.contexts.ofInference(inferenceId) ?? logged.ofInference(inferenceId),
    newest(scope) {
      const context = server.contexts.all.findLast((each) => each.scope === scope && each.unusable !== "no-id");
      const turn = context === undefined ? null : turns.response(context.inferenceId);
      return context === undefined || turn === null ? logged.newest(scope) : asHeld(view, { context, turn });
    },
    latest: (scope) => server.contexts.all.findLast((each) => each.scope === scope) ?? logged.latest(scope),
    usedUp(context) {
      const isHere = server.contexts.ofInference(context.inferenceId) === context;
      return isHere ? usedUp(server, context) : (logged.usedUp(context) ?? usedUp(server, { ...context, index: -1 }));
    },
    invalidation(context) {
      const { scope, anchor } = context;
      const name = anchorName(context);
      // Each fold numbers the contexts that it knows, and an event against a whole endpoint applies to the contexts before it.
      if (anchor !== null && server.contexts.byAnchor({ scope, anchor }) === context)
        return invalidationOf(server, context) ?? view.server.invalidResponses.get(name) ?? null;
      return (
        server.invalidResponses.get(name) ?? server.invalidScopes.get(context.scope) ?? logged.invalidation(context)
      );
    },
    quarantined: new Set([...server.quarantined, ...logged.quarantined]),
  };
}

/** The newest answer of an endpoint, also one without an id; `unknown` if the conversation has others that were not read. */
export function latestAnswer(run: LiveRun, scope: string): LatestAnswer | "unknown" | null {
  const { server, turns, view } = run.fold;
  const context = server.contexts.all.findLast((each) => each.scope === scope);
  const turn = context === undefined ? null : turns.response(context.inferenceId);
  if (context !== undefined && turn !== null) return { context, turn };
  const logged = view.latest.get(scope);
  if (logged !== undefined) return logged;
  return view.server.contexts.all.some((each) => each.scope === scope) ? "unknown" : null;
}

function withThoseHere(logged: readonly ServerContext[], here: readonly ServerContext[]): readonly ServerContext[] {
  const known = new Set(here.map(({ inferenceId }) => inferenceId));
  return [...logged.filter(({ inferenceId }) => !known.has(inferenceId)), ...here];
}

/** Leaves out the contexts that a resumed run has not received yet: its layers see what servers held at that time. */
function contextsBefore({ fold, stream, firstRevision }: LiveRun): ContextLookup {
  const logged = contextsOf(fold.view);
  if (firstRevision === null) return logged;
  const isBefore = (place: StreamRevision): boolean => place.stream !== stream || place.revision < firstRevision;
  return {
    ...logged,
    byTurn: (digest) => logged.byTurn(digest).filter(isBefore),
    ofTurn: (digest) => logged.ofTurn(digest).filter(isBefore),
    usedUp: (context) => usedUp(fold.view.server, context, isBefore),
  };
}
