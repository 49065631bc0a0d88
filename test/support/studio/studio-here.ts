import { type Studio, type StudioOptions, studioOver } from "../../../src/apps/studio/studio.ts";
import { openStore } from "../../../src/conversation/open-store.ts";

/** The handler of the studio over a store, and a way to ask it. */
export async function studioHere(address: string, options: Partial<StudioOptions> = {}) {
  const store = await openStore(address);
  const studio = studioOver({ store, access: () => true, ...options }, {});
  return {
    store,
    studio,
    get: <Document>(path: string): Promise<Document> => documentAt<Document>(studio, path),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

/** The JSON that the studio answers with. */
export async function documentAt<Document>(studio: Studio, path: string): Promise<Document> {
  const answer = await studio.fetch(new Request(`http://studio${path}`));
  // The caller names the type that the route declares.
  return (await answer.json()) as Document;
}

export async function statusAt(studio: Studio, path: string, init: RequestInit = {}): Promise<number> {
  return (await studio.fetch(new Request(`http://studio${path}`, init))).status;
}
