import { ok, type Result } from "../../base/result.ts";
import { decide, type Rejection } from "../../domain/decider/decide.ts";
import { AppendDraft } from "../../domain/decider/draft.ts";
import type { ConversationFacts } from "../../domain/decider/facts.ts";
import { type SettingsBase, shortDeclaration } from "../../domain/declared-settings.ts";
import { type ConversationEvent, recordable } from "../../domain/events/event.ts";
import type { ProposedEvent } from "../../domain/events/recorded.ts";
import type { NewEvent } from "../codec/prepare.ts";

/** An event to record, and the proposed one. */
type Decided = NewEvent<ConversationEvent> & { readonly proposed: ProposedEvent };

/**
 * The events to record for events proposed together, or why one of them is rejected. Each is decided after those before it.
 *
 * @param base - The newest complete declaration of settings: the next one may record only the differences.
 * @throws {InvalidEventError} for an event that could not be read back.
 */
export function decideAll(
  facts: ConversationFacts,
  proposals: readonly ProposedEvent[],
  base: SettingsBase | null,
): Result<readonly Decided[], Rejection> {
  const draft = new AppendDraft(facts);
  const decided: Decided[] = [];
  let newest = base;
  for (const proposed of proposals) {
    const result = decide(draft, proposed.event, proposed.runId ?? null);
    if (!result.ok) return result;
    for (const given of result.value) {
      const event = asRecorded(given, newest);
      if (event.type === "SettingsDeclared" && event.data.base === undefined) newest = event.data;
      const made = recordable(event, proposed.actor);
      draft.take(made.event, proposed.runId ?? null);
      decided.push({ ...proposed, ...made, proposed });
    }
  }
  return ok(decided);
}

/** Settings that mostly equal an earlier declaration are recorded as differences. */
const asRecorded = (event: ConversationEvent, base: SettingsBase | null): ConversationEvent =>
  event.type === "SettingsDeclared" ? { ...event, data: shortDeclaration(event.data, base) } : event;
