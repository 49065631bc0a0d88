import type { Actor } from "../../domain/actor.ts";
import { anchorName } from "../../domain/anchor.ts";
import type { Adjustments } from "../../domain/events/run-events.ts";
import type { Turn } from "../../domain/turn.ts";
import type { ServerContext, StreamRevision } from "../../projections/server-contexts.ts";
import { newRequest } from "../planning/build-request.ts";
import { asHeld, besideConversation, contextsOf, invalidationOf, provenanceOf, usedUp } from "../planning/contexts.ts";
import type { ContextLookup, PlanRequest } from "../planning/plan-request.ts";
import { requestSettings } from "../planning/request-settings.ts";
import type { CallScope } from "../session/call-scope.ts";
import type { LiveRun, RunSession } from "../session/session.ts";
import { adjusted } from "../stack/adjusted-engine.ts";
import type { Capabilities, Settings } from "../stack/codec.ts";
import { checkSettings } from "../stack/settings-size.ts";

/** A request to be made. */
export type StepRequest = {
  readonly outgoing: Turn;
  readonly scope: Pick<CallScope, "instructions">;
  /** What a layer asks otherwise than the provider is set to, where it asks beside the conversation. */
  readonly aside?: { readonly settings: Adjustments; readonly actor: Actor };
};

/** What is asked at a frame: of the Turn that left the innermost layer, or by a layer beside the conversation. */
export type Step = StepRequest & { readonly frame: string; readonly scope: CallScope };

/** What a step asks: of the Turn that left the innermost layer, with the settings that the engine, Turn and layers say. */
export function stepRequest(
  session: RunSession,
  { outgoing, scope, aside }: StepRequest,
  capabilities: Capabilities,
): PlanRequest {
  const { run, engine } = session;
  const { view } = run.fold;
  const { provider } = engine;
  // Of an object everything is in the log by now: it was looked up there what the object holds.
  const contexts = engine.chain.mode === "conversation" ? contextsOf(view) : contextLookup(run);
  const isAside = aside !== undefined;
  // It continues from nothing, and would take the place of what the conversation continues from.
  const transport = isAside ? (provider.fallbackTransport ?? provider.transport) : session.transport;
  const connection = transport === provider.transport ? provider.connection?.(run.stream, capabilities) : undefined;
  // A provider may be of a class, whose members a copy would not have.
  const { scope: endpointScope, codec, systemAs } = provider;
  const placed = systemAs === undefined ? {} : { systemAs };
  const common = {
    ...{
      endpoint: { scope: endpointScope, codec, ...placed, transport },
      connection,
      capabilities,
      policy: engine.chain,
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
      // The engine's own were looked at when it was made.
      return said.length > 0 ? checked(settings) : settings;
    },
    contexts,
  });
}

function checked(settings: Settings): Settings {
  checkSettings(settings);
  return settings;
}

/** What the provider is asked from here on: a tool that the caller wanted called was called once. */
export const settingsNow = ({ engine, run }: RunSession): Settings =>
  run.fold.turns.hasStartedTools ? engine.laterSettings : engine.settings;

/** The contexts of the log, with what this run has received and the folds may not hold yet. */
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
    usedUp(context) {
      const isHere = server.contexts.ofInference(context.inferenceId) === context;
      return isHere ? usedUp(server, context) : (logged.usedUp(context) ?? usedUp(server, { ...context, index: -1 }));
    },
    invalidation(context) {
      const { scope, anchor } = context;
      const name = anchorName(context);
      // Each fold counts the contexts that it knows: what speaks against a whole endpoint speaks against those before it.
      if (anchor !== null && server.contexts.byAnchor({ scope, anchor }) === context)
        return invalidationOf(server, context) ?? view.server.invalidResponses.get(name) ?? null;
      return (
        server.invalidResponses.get(name) ?? server.invalidScopes.get(context.scope) ?? logged.invalidation(context)
      );
    },
    quarantined: new Set([...server.quarantined, ...logged.quarantined]),
  };
}

function withThoseHere(logged: readonly ServerContext[], here: readonly ServerContext[]): readonly ServerContext[] {
  const known = new Set(here.map(({ inferenceId }) => inferenceId));
  return [...logged.filter(({ inferenceId }) => !known.has(inferenceId)), ...here];
}

/** Without those that a run taken up again has not received yet: its layers ask what servers knew then. */
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
