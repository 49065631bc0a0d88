import type { Banner as BannerDocument } from "../../../src/apps/studio/stack-documents.ts";
import { hueOf } from "../layers.ts";
import { blockPath, follow, hrefOf } from "../route.ts";
import { ChainSign, Diamond } from "./icons.tsx";

type BannerProps = {
  readonly banner: BannerDocument;
  readonly conversation: string;
  readonly onEdit: (revision: number) => void;
};

/** The verdict: who did what, and what it caused. */
export function Banner({ banner, conversation, onEdit }: BannerProps) {
  const { tone, verdict, title, text, edit, block } = banner;
  const story = block === null ? null : blockPath(conversation, block.id);
  return (
    <section class={`banner ${tone}`} aria-label="Verdict">
      <ChainSign verdict={verdict} />
      <div>
        <h2>
          {title.map((part) =>
            typeof part === "string" ? (
              part
            ) : (
              <span key={part.layer} class={`hue ${hueOf(part.layer)}`}>
                <Diamond name={part.layer} number={part.number} /> {part.layer}
              </span>
            ),
          )}
        </h2>
        <p>{text}</p>
      </div>
      <div class="actions">
        {edit === null ? null : (
          <button type="button" class="button" onClick={() => onEdit(edit)}>
            Go to the edit
          </button>
        )}
        {story === null || block === null ? null : (
          <a class="ghost" href={hrefOf(story)} onClick={(event) => follow(event, story)}>
            Story of block {block.index}
          </a>
        )}
      </div>
    </section>
  );
}
