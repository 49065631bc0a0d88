import type { z } from "zod";
import type { blameDocument } from "../../../src/apps/documents/conversations.ts";
import { grouped } from "../format.ts";
import { hueOf } from "../layers.ts";
import { conversationPath, follow, hrefOf } from "../route.ts";
import { Diamond } from "./icons.tsx";

/** What every view of a revision gets. */
export type TabProps = { readonly conversation: string; readonly revision: number; readonly version: number };

export type Actor = NonNullable<z.infer<typeof blameDocument>["blocks"][number]["made"]>["actor"];

const labelOf = (actor: Actor): string => ("name" in actor ? actor.name : actor.kind);

/** Who an actor is, with a layer's hue. */
export function ActorName({ actor }: { readonly actor: Actor | null }) {
  if (actor === null) return <span class="text-3">not told</span>;
  if (actor.kind !== "middleware") return <span>{labelOf(actor)}</span>;
  return (
    <span class={`hue ${hueOf(actor.name)}`}>
      <Diamond name={actor.name} number={null} /> {actor.name}
    </span>
  );
}

/** A revision as a link. */
export function At({ conversation, revision }: { readonly conversation: string; readonly revision: number }) {
  const to = conversationPath(conversation, revision);
  return (
    <a class="code" href={hrefOf(to)} onClick={(event) => follow(event, to)}>
      r{grouped(revision)}
    </a>
  );
}
