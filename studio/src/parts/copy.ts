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
