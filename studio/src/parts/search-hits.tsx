import { useEffect, useState } from "preact/hooks";
import type { z } from "zod";
import type { searchDocument } from "../../../src/apps/documents/conversations.ts";
import { grouped } from "../format.ts";
import { conversationPath, follow, hrefOf } from "../route.ts";
import { useLoaded } from "../source.ts";
import { Failure, Skeleton } from "./failure.tsx";

const rowHeight = 36;
type Search = z.infer<typeof searchDocument>;

/** Where the words are: titles and texts of the whole store. */
export function Hits({ text }: { readonly text: string }) {
  const [wanted, setWanted] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setWanted(text), 150);
    return () => clearTimeout(timer);
  }, [text]);
  const { data, error, isSlow, retry } = useLoaded<Search>(`/api/search?n=100&q=${encodeURIComponent(wanted)}`);
  if (error !== null) return <Failure error={error} what="The search failed" retry={retry} />;
  if (data === null) return isSlow ? <Skeleton rows={10} height={rowHeight} /> : <div />;
  if (data.hits.length === 0)
    return (
      <div class="empty">
        <h2>No text in the store matches “{data.text}”</h2>
        <p>Several words have to be in one text; a phrase goes between double quotes.</p>
      </div>
    );
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a list that scrolls has to be reached by keyboard.
    <div class="list-scroll" tabIndex={0} role="region" aria-label="Found">
      {data.hits.slice(0, 60).map((hit) => {
        const to = conversationPath(hit.conversation, hit.revision);
        return (
          <a
            key={`${hit.conversation}@${hit.revision}${hit.blockId ?? ""}`}
            class="conversation-row hit"
            href={hrefOf(to)}
            onClick={(event) => follow(event, to)}
          >
            <span class="conversation-title">
              <span class="title">{hit.title ?? hit.conversation}</span>
              <span class="code">r{grouped(hit.revision)}</span>
              <span class="cut text-2">
                {hit.snippet.slice(0, hit.match.start)}
                <ins>{hit.snippet.slice(hit.match.start, hit.match.end)}</ins>
                {hit.snippet.slice(hit.match.end)}
              </span>
            </span>
          </a>
        );
      })}
      {data.hasMore || data.hits.length > 60 ? <p class="empty text-3">There are more: give another word.</p> : null}
    </div>
  );
}
