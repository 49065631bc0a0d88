import { signal } from "@preact/signals";

/** Where the page is: everything that can be seen has an address. */
export type Route = { readonly path: string; readonly query: URLSearchParams };

const read = (): Route => ({ path: location.pathname, query: new URLSearchParams(location.search) });

export const route = signal<Route>(read());

addEventListener("popstate", () => {
  route.value = read();
});

/** Opens another page, which Back leaves again. */
export function go(to: string): void {
  if (to === location.pathname + location.search) return;
  history.pushState(null, "", to);
  route.value = read();
}

/** Changes members of the query. Stepping replaces the entry of the history; jumps and tabs make a new one. */
export function setQuery(
  changes: Readonly<Record<string, string | number | null>>,
  how: "push" | "replace" = "push",
): void {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") query.delete(name);
    else query.set(name, String(value));
  }
  const text = query.toString().replaceAll("%3A", ":").replaceAll("%2F", "/");
  const to = text === "" ? location.pathname : `${location.pathname}?${text}`;
  if (to === location.pathname + location.search) return;
  if (how === "push") history.pushState(null, "", to);
  else history.replaceState(null, "", to);
  route.value = read();
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
