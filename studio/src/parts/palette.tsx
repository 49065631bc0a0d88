import { useSignal } from "@preact/signals";
import { type Command, commands } from "../keys.ts";
import { conversationPath, go } from "../route.ts";
import { Dialog } from "./dialog.tsx";
import { SearchIcon } from "./icons.tsx";

/** Everything that can be done here, by its words; a revision goes to it. */
export function Palette({ onClose }: { readonly onClose: () => void }) {
  const text = useSignal("");
  const chosen = useSignal(0);
  const found = optionsFor(text.value);
  const at = Math.min(chosen.value, Math.max(0, found.length - 1));
  const run = (command: Command | undefined): void => {
    document.querySelector("dialog")?.close();
    command?.run();
  };
  return (
    <Dialog label="Go to" onClose={onClose}>
      <div class="field palette-field">
        <SearchIcon />
        <input
          role="combobox"
          aria-expanded="true"
          aria-controls="palette-options"
          aria-activedescendant={found.length === 0 ? undefined : `option-${at}`}
          aria-label="Go to"
          placeholder="A page, a command, a conversation’s id, or a revision such as r24"
          value={text.value}
          autoFocus
          onInput={(event) => {
            text.value = event.currentTarget.value;
            chosen.value = 0;
          }}
          onKeyDown={(event) => {
            if (event.key === "ArrowDown") chosen.value = Math.min(found.length - 1, at + 1);
            else if (event.key === "ArrowUp") chosen.value = Math.max(0, at - 1);
            else if (event.key === "Enter") run(found[at]);
            else return;
            event.preventDefault();
          }}
        />
      </div>
      <div class="options" role="listbox" id="palette-options" aria-label="Commands">
        {found.map((command, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keys of this list.
          // biome-ignore lint/a11y/useFocusableInteractive: the field above keeps the focus.
          <div
            key={command.words}
            id={`option-${index}`}
            role="option"
            aria-selected={index === at}
            onClick={() => run(command)}
          >
            <span>{command.words}</span>
            {command.key === "" ? null : <kbd>{command.key.split("  ")[0]}</kbd>}
          </div>
        ))}
        {found.length === 0 ? <p class="text-3 empty">Nothing here is called that.</p> : null}
      </div>
    </Dialog>
  );
}

function optionsFor(text: string): readonly Command[] {
  const wanted = text.trim().toLowerCase();
  const revision = /^(?:r|@)?(\d{1,9})$/.exec(wanted)?.[1];
  const goTo = commands.value.find(({ key }) => key === ":");
  const jump: readonly Command[] =
    revision === undefined || goTo === undefined
      ? []
      : [{ key: "", words: `Revision ${revision}`, group: "", run: () => jumpTo.value?.(Number(revision)) }];
  const id = text.trim();
  const open: readonly Command[] = isConversationId(id)
    ? [{ key: "", words: `Open the conversation ${id}`, group: "", run: () => go(conversationPath(id)) }]
    : [];
  const listed = commands.value.filter(
    ({ isKeyOnly, words }) => isKeyOnly !== true && words.toLowerCase().includes(wanted),
  );
  return [...jump, ...listed.slice(0, 40), ...open];
}

/** Also an id of the caller's own, which may be any word: such a word is offered behind the commands that have it. */
const isConversationId = (text: string): boolean => /^[\w-]{1,128}$/.test(text);

/** Goes to a revision of the conversation that is shown. */
export const jumpTo: { value: ((revision: number) => void) | null } = { value: null };
