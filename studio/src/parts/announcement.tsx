import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { StackDocument } from "../../../src/apps/studio/stack-documents.ts";
import { grouped } from "../format.ts";
import { route } from "../route.ts";
import { useLoaded } from "../source.ts";
import { WarnIcon } from "./icons.tsx";

/** What changes while one steps, for readers of screens: once it rests. */
export function Announcement({ revision, stack }: { readonly revision: number; readonly stack: StackDocument | null }) {
  const words = useSignal("");
  const title = stack?.banner.title.map((part) => (typeof part === "string" ? part : part.layer)).join("") ?? "";
  useEffect(() => {
    const timer = setTimeout(() => (words.value = `r${grouped(revision)}, ${title}`), 400);
    return () => clearTimeout(timer);
  }, [revision, title]);
  return (
    <p class="sr" aria-live="polite">
      {words.value}
    </p>
  );
}

/** A link says the digest of its event: it may have been made for another log. */
export function LinkCheck({ id, revision }: { readonly id: string; readonly revision: number }) {
  const wanted = route.value.query.get("h");
  const { data } = useLoaded<{ readonly digest: string; readonly revision: number }>(
    wanted === null ? null : `/api/c/${id}/cat/${revision}`,
  );
  if (wanted === null || data === null || data.revision !== revision || data.digest.startsWith(wanted)) return null;
  return (
    <section class="banner warn" aria-label="Link">
      <WarnIcon class="warn" />
      <div>
        <h2>This link was made for a different log</h2>
        <p>Its event r{grouped(revision)} had another digest: the store may have been replaced, or set back.</p>
      </div>
      <div class="actions" />
    </section>
  );
}
