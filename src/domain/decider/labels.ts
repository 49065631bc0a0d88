import type { ConversationEventOf } from "../events/event.ts";

/** A conversation's labels, by name. */
export type Labels = Readonly<Record<string, string>>;

/** The label that hides a conversation from lists, unless they are asked for all. */
export const hiddenLabel = "turnlog.hidden";

type Labelling = ConversationEventOf<"ConversationStarted" | "ConversationRelabelled">;

/** The labels after an event that sets some, or removes some (null). A fork is listed even if its parent is hidden. */
export function labelsAfter(labels: Labels, { type, data }: Labelling): Labels {
  const shown = type === "ConversationStarted" ? { ...labels, [hiddenLabel]: null } : labels;
  const merged = Object.entries<string | null>({ ...shown, ...data.labels });
  return Object.fromEntries(merged.flatMap(([name, value]) => (value === null ? [] : [[name, value]])));
}

/** Applies a new title and new labels. */
export function relabel(named: { title: string | null; labels: Labels }, event: Labelling): void {
  named.title = event.data.title ?? named.title;
  named.labels = labelsAfter(named.labels, event);
}

/** Whether labels would set or remove anything. */
export const areNews = (labels: Labels, given: Readonly<Record<string, string | null>>): boolean =>
  Object.entries(given).some(([name, value]) => (Object.hasOwn(labels, name) ? labels[name] : null) !== value);

export const isHidden = (labels: Labels): boolean => Object.hasOwn(labels, hiddenLabel);
