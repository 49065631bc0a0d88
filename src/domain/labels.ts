import type { ConversationEventOf } from "./events/event.ts";

/** A conversation's labels, by name. */
export type Labels = Readonly<Record<string, string>>;

/** The label that takes a conversation out of lists, which show it when they are asked for all. */
export const hiddenLabel = "turnlog.hidden";

type Labelling = ConversationEventOf<"ConversationStarted" | "ConversationRelabelled">;

/** The labels after an event that sets some, or takes some away by null. A fork is listed, also where its parent is not. */
export function labelsAfter(labels: Labels, { type, data }: Labelling): Labels {
  const shown = type === "ConversationStarted" ? { ...labels, [hiddenLabel]: null } : labels;
  const merged = Object.entries<string | null>({ ...shown, ...data.labels });
  return Object.fromEntries(merged.flatMap(([name, value]) => (value === null ? [] : [[name, value]])));
}

/** Takes in how a conversation is called from now on. */
export function relabel(named: { title: string | null; labels: Labels }, event: Labelling): void {
  named.title = event.data.title ?? named.title;
  named.labels = labelsAfter(named.labels, event);
}

/** Whether labels would set or take away something. */
export const areNews = (labels: Labels, given: Readonly<Record<string, string | null>>): boolean =>
  Object.entries(given).some(([name, value]) => (Object.hasOwn(labels, name) ? labels[name] : null) !== value);

export const isHidden = (labels: Labels): boolean => Object.hasOwn(labels, hiddenLabel);
