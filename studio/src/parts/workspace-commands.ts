import type { Signal } from "@preact/signals";
import type { FindDocument, LogGroup } from "../../../src/apps/studio/page-documents.ts";
import { focusOn } from "../focus-on.ts";
import { useCommands } from "../keys.ts";
import { go, setQuery } from "../route.ts";
import { load } from "../source.ts";
import { copyEvent, copyLink } from "./copy.ts";
import { revisionNow } from "./revision.ts";
import { type View, viewNames, views } from "./views.ts";

type Workspace = {
  readonly id: string;
  readonly last: number;
  readonly revision: number;
  readonly filter: string;
  readonly groups: readonly (LogGroup | null)[];
  /** The revision that the reader marked as a base. */
  readonly mark: Signal<number | null>;
  readonly toggled: Signal<ReadonlySet<number>>;
  readonly isLogOpen: Signal<boolean>;
  readonly select: (revision: number, how?: "push" | "replace") => void;
  readonly show: (view: View) => void;
  readonly followHead: () => void;
};

/** The keys of a conversation's page. */
export function useWorkspaceCommands({
  id,
  last,
  revision,
  filter,
  groups,
  mark,
  toggled,
  isLogOpen,
  select,
  show,
  followHead,
}: Workspace): void {
  const find = async (what: FindDocument["what"], direction: 1 | -1): Promise<void> => {
    const found = await load<FindDocument>(
      `/api/c/${id}/find/${revisionNow(last)}?what=${what}&direction=${direction}`,
    );
    if (found.revision !== null) select(found.revision, "push");
  };
  const steps = "Step";
  const jumps = "Jump";
  useCommands([
    { key: "j  ArrowDown", words: "Next event", group: steps, run: () => select(revisionNow(last) + 1) },
    { key: "k  ArrowUp", words: "Previous event", group: steps, run: () => select(revisionNow(last) - 1) },
    { key: "J  Shift ArrowDown", words: "Ten events on", group: steps, run: () => select(revisionNow(last) + 10) },
    { key: "K  Shift ArrowUp", words: "Ten events back", group: steps, run: () => select(revisionNow(last) - 10) },
    { key: "]", words: "Next answer", group: jumps, run: () => void find("answer", 1) },
    { key: "[", words: "Previous answer", group: jumps, run: () => void find("answer", -1) },
    { key: "e", words: "Next edit of a layer", group: jumps, run: () => void find("edit", 1) },
    { key: "E", words: "Previous edit of a layer", group: jumps, run: () => void find("edit", -1) },
    { key: "b", words: "Next broken chain", group: jumps, run: () => void find("break", 1) },
    { key: "B", words: "Previous broken chain", group: jumps, run: () => void find("break", -1) },
    { key: "x", words: "Next miss of the prompt cache", group: jumps, run: () => void find("miss", 1) },
    { key: "X", words: "Previous miss of the prompt cache", group: jumps, run: () => void find("miss", -1) },
    { key: "t", words: "Next message", group: jumps, run: () => void find("turn", 1) },
    { key: "T", words: "Previous message", group: jumps, run: () => void find("turn", -1) },
    { key: "g", words: "First event", group: jumps, run: () => select(0, "push") },
    { key: "G", words: "Follow the newest event", group: jumps, run: followHead },
    { key: ":", words: "Go to a revision", group: jumps, run: () => focusOn("revision") },
    ...views.map((each, index) => ({
      key: String(index + 1),
      words: `Show ${viewNames[each].toLowerCase()}`,
      group: "View",
      run: () => show(each),
    })),
    {
      key: "/",
      words: "Filter events",
      group: "View",
      run: () => {
        isLogOpen.value = true;
        focusOn("log-filter");
      },
    },
    {
      key: "l",
      words: "Open or close the log (narrow windows)",
      group: "View",
      run: () => (isLogOpen.value = !isLogOpen.value),
    },
    {
      key: "v",
      words: "Fold or open all messages of the log",
      group: "View",
      run: () =>
        (toggled.value =
          toggled.value.size > 0
            ? new Set()
            : new Set(
                groups.flatMap((group) =>
                  group === null || (group.from <= revision && revision <= group.to) ? [] : [group.from],
                ),
              )),
    },
    { key: "m", words: "Mark as base", group: "Compare", run: () => (mark.value = revisionNow(last)) },
    {
      key: "d",
      words: "What changed since the base",
      group: "Compare",
      run: () => setQuery({ view: "diff", base: mark.value ?? Math.max(0, revisionNow(last) - 1) }),
    },
    {
      key: "w",
      words: "What if, without a layer or with another stack",
      group: "Compare",
      run: () => go(`/c/${encodeURIComponent(id)}/what-if?r=${revisionNow(last)}`),
    },
    {
      key: "f",
      words: "Forks of this conversation",
      group: "Jump",
      run: () => go(`/c/${encodeURIComponent(id)}/forks`),
    },
    { key: "c", words: "Copy a link to this revision", group: "Copy", run: () => void copyLink(id, revisionNow(last)) },
    { key: "y", words: "Copy the event as JSON", group: "Copy", run: () => void copyEvent(id, revisionNow(last)) },
    {
      key: "Escape",
      words: "Close, or clear the filter",
      group: "View",
      run: () => {
        isLogOpen.value = false;
        if (filter !== "") setQuery({ f: null }, "replace");
      },
    },
  ]);
}
