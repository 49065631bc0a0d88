import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { StoreDocument } from "../../../src/apps/studio/page-documents.ts";
import { grouped } from "../format.ts";
import { inbox, useInbox } from "../inbox.ts";
import { commands, useCommands } from "../keys.ts";
import { dropped } from "../offline/dropped.ts";
import { follow, go, hrefOf, route } from "../route.ts";
import { isConnected, useLoaded } from "../source.ts";
import { hasKeys, setKeys, toggleTheme } from "../theme.ts";
import { Dialog } from "./dialog.tsx";
import { CheckIcon, Logo, SearchIcon, ThemeIcon, WarnIcon } from "./icons.tsx";
import { Palette } from "./palette.tsx";

const pages = [
  { path: "/", name: "Conversations" },
  { path: "/inbox", name: "Inbox" },
  { path: "/costs", name: "Costs" },
  { path: "/audit", name: "Audit" },
] as const;

/** Only of a studio that was started with one. */
const reportPage = { path: "/report", name: "Report" };

const isMac = /Mac|iPhone|iPad/.test(navigator.platform);

/** The bar on top, the page, and the dialogs that every page has. */
export function Shell({
  title,
  children,
  foot,
}: {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly foot: ComponentChildren;
}) {
  const store = useLoaded<StoreDocument>("/api/store");
  const isHelp = useSignal(false);
  const isPalette = useSignal(false);
  const { path } = route.value;
  useEffect(() => {
    document.title = title === "" ? "turnlog studio" : `${title} · turnlog studio`;
  }, [title]);
  useInbox();
  useCommands([
    { key: "Ctrl K", words: "Go to …", group: "Everywhere", isKeyOnly: true, run: () => (isPalette.value = true) },
    { key: "?", words: "Show all keys", group: "Everywhere", run: () => (isHelp.value = true) },
    { key: "", words: "Conversations", group: "Everywhere", run: () => go("/") },
    { key: "", words: "Inbox", group: "Everywhere", run: () => go("/inbox") },
    { key: "", words: "Costs", group: "Everywhere", run: () => go("/costs") },
    { key: "", words: "Audit", group: "Everywhere", run: () => go("/audit") },
    { key: "", words: "Change between light and dark", group: "Everywhere", run: toggleTheme },
  ]);
  return (
    <div class="page">
      <header class="top">
        <a class="brand" href={hrefOf("/")} aria-label="turnlog studio" onClick={(event) => follow(event, "/")}>
          <Logo />
          <span>turnlog</span>
        </a>
        <nav aria-label="Pages">
          {[...pages, ...(store.data?.report == null ? [] : [reportPage])].map((page) => (
            <a
              key={page.path}
              href={hrefOf(page.path)}
              aria-current={isOn(page.path, path) ? "page" : undefined}
              onClick={(event) => follow(event, page.path)}
            >
              {page.name}
              {page.path === "/inbox" ? <Count /> : null}
            </a>
          ))}
        </nav>
        <div class="top-right">
          <span class="address mono cut">{store.data?.address ?? ""}</span>
          <span class="mode small">
            {store.data === null
              ? ""
              : store.data.isRedacted
                ? "texts redacted"
                : store.data.writing !== null
                  ? `writing as ${store.data.writing.as}`
                  : "read-only"}
          </span>
          <button type="button" class="field goto" onClick={() => (isPalette.value = true)}>
            <span>
              <SearchIcon /> Go to…
            </span>
            <kbd>{isMac ? "⌘K" : "Ctrl K"}</kbd>
          </button>
          <button type="button" class="ghost" aria-label="Change between light and dark" onClick={toggleTheme}>
            <ThemeIcon />
          </button>
        </div>
      </header>
      <Dropped />
      {children}
      <footer class="foot">
        {isConnected.value ? (
          foot
        ) : (
          <span class="bad">The studio does not answer; this page asks again by itself.</span>
        )}
        <span class="right">
          <button type="button" onClick={() => (isHelp.value = true)}>
            <kbd>?</kbd>all keys
          </button>
        </span>
      </footer>
      {isHelp.value ? <Help onClose={() => (isHelp.value = false)} /> : null}
      {isPalette.value ? <Palette onClose={() => (isPalette.value = false)} /> : null}
    </div>
  );
}

/** How many things wait for a person. */
function Count() {
  const count = (inbox.value?.items ?? []).filter(({ kind }) => kind !== "expiring").length;
  return count === 0 ? null : (
    <span class="count">
      {grouped(count)}
      <span class="sr"> waiting</span>
    </span>
  );
}

/** What became of a bundle that was dropped onto the page. */
function Dropped() {
  const bundle = dropped.value;
  if (bundle === null) return null;
  const { name, problem } = bundle;
  return (
    <section class={`banner ${problem === null ? "" : "bad"}`} aria-label="Bundle" role="status">
      {problem === null ? <CheckIcon /> : <WarnIcon class="bad" />}
      <div>
        <h2>{problem === null ? `Showing the bundle ${name}` : `${name} cannot be opened`}</h2>
        <p>
          {problem === null
            ? "It stays in this page only, until the page is loaded again."
            : `${problem.slice(0, 1).toUpperCase()}${problem.slice(1)}.`}
        </p>
      </div>
      <div class="actions">
        <button
          type="button"
          class="button"
          onClick={() => {
            dropped.value = null;
            if (problem !== null) return;
            go("/");
            location.reload();
          }}
        >
          {problem === null ? "Back to the store" : "Close"}
        </button>
      </div>
    </section>
  );
}

const isOn = (page: string, path: string): boolean =>
  page === "/" ? path === "/" || path.startsWith("/c/") : path.startsWith(page);

/** All keys of this page. Single keys can be turned off. */
function Help({ onClose }: { readonly onClose: () => void }) {
  const groups = Map.groupBy(
    commands.value.filter(({ key }) => key !== ""),
    ({ group }) => group,
  );
  return (
    <Dialog label="Keys" onClose={onClose}>
      <div class="help">
        <h2>Keys</h2>
        <div class="help-columns">
          {[...groups].map(([group, list]) => (
            <section key={group}>
              <h3>{group}</h3>
              <ul>
                {list.map(({ key, words }) => (
                  <li key={key + words}>
                    <span>{words}</span>
                    <span>
                      {key.split("  ").map((each) => (
                        <kbd key={each}>{each.replace("Arrow", "").replace("Ctrl", isMac ? "⌘" : "Ctrl")}</kbd>
                      ))}
                    </span>
                  </li>
                ))}
              </ul>
            </section>
          ))}
        </div>
        <label>
          <input type="checkbox" checked={hasKeys.value} onChange={(event) => setKeys(event.currentTarget.checked)} />
          Single keys do something
        </label>
      </div>
    </Dialog>
  );
}
