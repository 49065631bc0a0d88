import { useSignal } from "@preact/signals";
import { roundBytes } from "../format.ts";

/** A longer text begins folded. */
const [mostLines, mostCharacters] = [12, 1_200];

/** A text of any length: twelve lines, and the rest on request. */
export function LongText({ text, characters }: { readonly text: string; readonly characters: number }) {
  const isOpen = useSignal(false);
  const begins = text.split("\n").slice(0, mostLines).join("\n").slice(0, mostCharacters);
  const isCut = begins.length < text.length;
  return (
    <div class="text text-2">
      {isOpen.value ? text : begins}
      {isCut && !isOpen.value ? (
        <div>
          <button type="button" class="ghost" onClick={() => (isOpen.value = true)}>
            show all ({roundBytes(characters)})
          </button>
        </div>
      ) : null}
    </div>
  );
}
