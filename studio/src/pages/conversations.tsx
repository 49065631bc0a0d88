import { useSignal } from "@preact/signals";
import { grouped } from "../format.ts";
import { useCommands } from "../keys.ts";
import { useList } from "../parts/conversation-list.ts";
import { List } from "../parts/conversation-table.tsx";
import { SearchIcon } from "../parts/icons.tsx";
import { KeyHints } from "../parts/key-hints.tsx";
import { Hits } from "../parts/search-hits.tsx";
import { Shell } from "../parts/shell.tsx";
import { conversationPath, go, route, setQuery } from "../route.ts";

/** The conversations of the store: which one to open. */
export function Conversations() {
  const { query } = route.value;
  const text = query.get("q") ?? "";
  const list = useList();
  const selected = useSignal(0);
  const rows = list.conversations;
  const select = (next: number): void => {
    selected.value = Math.max(0, Math.min(rows.length - 1, next));
  };
  useCommands([
    { key: "j  ArrowDown", words: "Next conversation", group: "Conversations", run: () => select(selected.value + 1) },
    {
      key: "k  ArrowUp",
      words: "Previous conversation",
      group: "Conversations",
      run: () => select(selected.value - 1),
    },
    { key: "g", words: "First conversation", group: "Conversations", run: () => select(0) },
    { key: "G", words: "Last of those loaded", group: "Conversations", run: () => select(rows.length - 1) },
    {
      key: "Enter",
      words: "Open the conversation",
      group: "Conversations",
      run: () => {
        const row = rows[selected.value];
        if (row !== undefined) go(conversationPath(row.id));
      },
    },
    {
      key: "/",
      words: "Search titles and texts",
      group: "Conversations",
      run: () => document.getElementById("search")?.focus(),
    },
    { key: "Escape", words: "Clear the search", group: "Conversations", run: () => setQuery({ q: null }, "replace") },
  ]);
  return (
    <Shell
      title="Conversations"
      foot={
        <>
          {text.trim() === "" ? (
            <span>
              {grouped(rows.length)} of {grouped(list.total)} shown
            </span>
          ) : null}
          <span class="legend">
            <i /> chained <i class="r" /> rebased <i class="x" /> full
          </span>
          <KeyHints
            hints={[
              [["j", "k"], "move"],
              [["Enter"], "open"],
            ]}
          />
        </>
      }
    >
      <main class="workspace">
        <div class="head tools">
          <h1>Conversations</h1>
          <span class="text-3">{list.isThere ? grouped(list.total) : ""}</span>
          <label class="field search-field">
            <SearchIcon />
            <input
              id="search"
              type="search"
              placeholder="Search titles and texts"
              aria-label="Search titles and texts"
              value={text}
              onInput={(event) => setQuery({ q: event.currentTarget.value }, "replace")}
              onKeyDown={(event) => {
                if (event.key !== "Escape") return;
                setQuery({ q: null }, "replace");
                event.currentTarget.blur();
              }}
            />
            {text === "" ? <kbd>/</kbd> : null}
          </label>
          <div class="filters">
            <Filter name="state" value="open" words="Open" />
            <Filter name="state" value="parked" words="Waiting" />
            <Filter name="losses" value="1" words="With losses" isOptional />
            <label class="ghost optional">
              Label
              <input
                class="label-field mono"
                aria-label="Label, as name=value"
                placeholder="name=value"
                size={12}
                value={query.get("label") ?? ""}
                onChange={(event) => setQuery({ label: event.currentTarget.value })}
              />
            </label>
          </div>
          <span class="right text-3 drop-hint">drop a bundle anywhere to open it</span>
        </div>
        {text.trim() === "" ? <List list={list} selected={selected.value} /> : <Hits text={text.trim()} />}
      </main>
    </Shell>
  );
}

function Filter({
  name,
  value,
  words,
  isOptional,
}: {
  readonly name: string;
  readonly value: string;
  readonly words: string;
  readonly isOptional?: boolean;
}) {
  const isOn = route.value.query.get(name) === value;
  return (
    <button
      type="button"
      class={`ghost ${isOptional === true ? "optional" : ""}`}
      aria-pressed={isOn}
      onClick={() => setQuery({ [name]: isOn ? null : value })}
    >
      {words}
    </button>
  );
}
