import { signal } from "@preact/signals";

/** Where the page is: everything that can be seen has an address. */
export type Route = { readonly path: string; readonly query: URLSearchParams };

/** A page from disk keeps its address behind the `#`, because the path is that of the file. */
const isFile = location.protocol === "file:" || document.getElementById("turnlog-data") !== null;

/** The address within the page: `/c/cnv_1?r=24`. */
export const address = (): URL =>
  new URL(isFile ? location.hash.slice(1) || "/" : location.pathname + location.search, "http://page");

/** An address as a link has it. */
export const hrefOf = (to: string): string => (isFile ? `#${to}` : to);

const read = (): Route => ({ path: address().pathname, query: address().searchParams });

export const route = signal<Route>(read());

addEventListener("popstate", () => {
  route.value = read();
});

function change(to: string, how: "push" | "replace"): void {
  const now = address();
  if (to === now.pathname + now.search) return;
  if (how === "push") history.pushState(null, "", hrefOf(to));
  else history.replaceState(null, "", hrefOf(to));
  route.value = read();
}

/** Opens another page, which Back leaves again. */
export const go = (to: string): void => change(to, "push");

/** Changes members of the query. Stepping replaces the entry of the history; jumps and tabs make a new one. */
export function setQuery(
  changes: Readonly<Record<string, string | number | null>>,
  how: "push" | "replace" = "push",
): void {
  const { pathname, searchParams: query } = address();
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") query.delete(name);
    else query.set(name, String(value));
  }
  const text = query.toString().replaceAll("%3A", ":").replaceAll("%2F", "/");
  change(text === "" ? pathname : `${pathname}?${text}`, how);
}

/** A link that stays in the page, unless the user asks for a new tab. */
export function follow(event: MouseEvent, to: string): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  go(to);
}

export const conversationPath = (id: string, revision?: number | null): string =>
  `/c/${encodeURIComponent(id)}${revision == null ? "" : `?r=${revision}`}`;

export const blockPath = (id: string, block: string): string =>
  `/c/${encodeURIComponent(id)}/b/${encodeURIComponent(block)}`;
