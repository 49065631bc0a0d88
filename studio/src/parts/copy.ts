import { address, hrefOf } from "../route.ts";
import { load } from "../source.ts";

/** A link to a revision, with the beginning of its event's digest. */
export async function copyLink(id: string, revision: number): Promise<void> {
  const { digest } = await load<{ readonly digest: string }>(`/api/c/${id}/cat/${revision}`);
  const query = address().searchParams;
  query.set("r", String(revision));
  query.set("h", digest.slice(0, 8));
  await navigator.clipboard.writeText(new URL(hrefOf(`/c/${id}?${query.toString()}`), location.href).href);
}

/** An event as it is stored. */
export async function copyEvent(id: string, revision: number): Promise<void> {
  const event = await load<unknown>(`/api/c/${id}/cat/${revision}`);
  await navigator.clipboard.writeText(JSON.stringify(event, null, 2));
}

export const copyText = (text: string): Promise<void> => navigator.clipboard.writeText(text);

/** Saves a text as a file: a page from disk has no server that could send one. */
export function saveFile(name: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
