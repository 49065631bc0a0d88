import type { BiographyDocument, BiographyStep } from "../../../src/apps/studio/biography-documents.ts";
import { bytes, counted, dateAndTime, grouped } from "../format.ts";
import { useCommands } from "../keys.ts";
import { hueOf } from "../layers.ts";
import { heads } from "../live.ts";
import { Difference } from "../parts/difference.tsx";
import { Failure, Skeleton } from "../parts/failure.tsx";
import { ActorSign, ChainSign, LeftIcon, RightIcon } from "../parts/icons.tsx";
import { LongText } from "../parts/long-text.tsx";
import { Shell } from "../parts/shell.tsx";
import { blockPath, conversationPath, follow, go, hrefOf } from "../route.ts";
import { useLoaded } from "../source.ts";

/** How a block came to say what it says. */
export function Biography({ id, block }: { readonly id: string; readonly block: string }) {
  const path = `/api/c/${id}/block/${encodeURIComponent(block)}`;
  const { data, error, isSlow, retry } = useLoaded<BiographyDocument>(path, heads.value.get(id) ?? -1);
  const story = data !== null && data.id === block ? data : null;
  const to = (next: string | null | undefined): void => {
    if (next != null) go(blockPath(id, next));
  };
  useCommands([
    { key: "j  .", words: "Next block", group: "Block", run: () => to(story?.next) },
    { key: "k  ,", words: "Previous block", group: "Block", run: () => to(story?.previous) },
    {
      key: "Escape",
      words: "Back to the conversation",
      group: "Block",
      run: () => go(conversationPath(id, story?.steps.at(-1)?.revision)),
    },
  ]);
  const back = conversationPath(id, story?.steps.at(-1)?.revision);
  return (
    <Shell
      title={story === null ? "Block" : `Block ${story.label}`}
      foot={<span>{story === null ? "" : `${counted(story.steps.length, "event")} touched this block`}</span>}
    >
      <main class="workspace">
        <div class="head">
          <a
            class="ghost"
            href={hrefOf(back)}
            aria-label="Back to the conversation"
            onClick={(event) => follow(event, back)}
          >
            <LeftIcon />
          </a>
          <h1 class="cut">
            {story === null
              ? "Block"
              : story.index === null
                ? `${story.label}, no longer in the Turn`
                : `Block ${story.index}, ${story.label}`}
          </h1>
          <span class="id code cut">{block}</span>
          <span class="text-3 small mid-only">{story === null ? "" : summary(story)}</span>
          <div class="right">
            <button
              type="button"
              class="ghost"
              disabled={story?.previous == null}
              aria-label="Previous block"
              onClick={() => to(story?.previous)}
            >
              <LeftIcon />
            </button>
            <button
              type="button"
              class="ghost"
              disabled={story?.next == null}
              aria-label="Next block"
              onClick={() => to(story?.next)}
            >
              <RightIcon />
            </button>
          </div>
        </div>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a text that scrolls has to be reached by keyboard. */}
        <div class="list-scroll" tabIndex={0} role="region" aria-label="Story">
          {error !== null ? <Failure error={error} what="The story cannot be told" retry={retry} /> : null}
          {story === null && isSlow ? <Skeleton rows={6} /> : null}
          {story === null ? null : (
            <ol class="story">
              {story.steps.map((step) => (
                <Step key={`${step.conversation}@${step.revision}${step.what}`} step={step} />
              ))}
            </ol>
          )}
        </div>
      </main>
    </Shell>
  );
}

function summary({ steps, characters }: BiographyDocument): string {
  const changes = steps.filter(({ what }) => what === "changed").length;
  return `${changes === 0 ? "never changed" : counted(changes, "change")}, ${counted(characters, "character")} now`;
}

const words = { made: "made it", changed: "changed it", removed: "removed it", erased: "erased its content" } as const;

function Step({ step }: { readonly step: BiographyStep }) {
  const { what, conversation, revision, at, actor, layer, layerNumber, text, characters, difference, broke } = step;
  const to = conversationPath(conversation, revision);
  return (
    <li class="story-step">
      <a class="code" href={hrefOf(to)} onClick={(event) => follow(event, to)}>
        r{grouped(revision)}
      </a>
      <ActorSign
        sign={layer === null ? (actor === "user" ? "user" : "engine") : "layer"}
        layer={layer}
        number={layerNumber}
      />
      <span>
        <span class={layer === null ? "strong" : `hue ${hueOf(layer)}`}>{actor}</span> {words[what]}
        <span class="text-3"> {characters === null ? "" : counted(characters, "character")}</span>
      </span>
      <span class="text-3 small">{dateAndTime(at)}</span>
      {difference !== null && what === "changed" ? (
        <div class="text">
          <Difference difference={difference} />
        </div>
      ) : text === null ? (
        what === "removed" || what === "erased" ? null : (
          <div class="text text-3">The log does not have its text.</div>
        )
      ) : (
        <LongText text={text} characters={characters ?? text.length} />
      )}
      {broke === null ? null : <Broke broke={broke} conversation={conversation} />}
    </li>
  );
}

function Broke({
  broke: { revision, verdict, bytes: sent },
  conversation,
}: {
  readonly broke: NonNullable<BiographyStep["broke"]>;
  readonly conversation: string;
}) {
  const to = conversationPath(conversation, revision);
  return (
    <p class={`broke ${verdict === "rebased" ? "warn" : "bad"}`}>
      <ChainSign verdict={verdict} /> This ended the chain:{" "}
      <a href={hrefOf(to)} onClick={(event) => follow(event, to)}>
        request r{grouped(revision)}
      </a>{" "}
      was {verdict === "rebased" ? "rebased" : "sent in full"}, {bytes(sent)}.
    </p>
  );
}
