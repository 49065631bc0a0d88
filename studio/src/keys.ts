import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { hasKeys } from "./theme.ts";

/** A function that a key calls; all of them are in the palette and in the help. */
export type Command = {
  readonly key: string;
  readonly words: string;
  readonly group: string;
  readonly run: (event?: KeyboardEvent) => void;
  /** Left out of the palette: it needs the key's direction, or a place. */
  readonly isKeyOnly?: true;
};

export const commands = signal<readonly Command[]>([]);

/** Offers commands as long as a page is shown. */
export function useCommands(offered: readonly Command[]): void {
  const latest = useRef(offered);
  latest.current = offered;
  const names = offered.map(({ key, words }) => `${key} ${words}`).join("\n");
  // Before the page is painted: a key that is pressed as soon as the page shows has its command.
  useLayoutEffect(() => {
    const own = latest.current.map(
      (command, index): Command => ({ ...command, run: (event) => latest.current[index]?.run(event) }),
    );
    commands.value = [...commands.value, ...own];
    return () => {
      commands.value = commands.value.filter((command) => !own.includes(command));
    };
  }, [names]);
}

/** The name of a key, as commands write it. */
function nameOf(event: KeyboardEvent): string {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") return "Ctrl K";
  if (event.ctrlKey || event.metaKey || event.altKey) return "";
  return event.shiftKey && event.key.startsWith("Arrow") ? `Shift ${event.key}` : event.key;
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable ||
    target instanceof HTMLTextAreaElement ||
    target instanceof HTMLSelectElement ||
    (target instanceof HTMLInputElement && !["range", "checkbox"].includes(target.type)));

export function listenForKeys(): void {
  addEventListener("keydown", (event) => {
    const name = nameOf(event);
    if (name === "" || event.defaultPrevented) return;
    const isPlain = name.length === 1;
    if (isTyping(event.target) && (isPlain || !["Ctrl K", "Escape"].includes(name))) return;
    // An open dialog has its own keys.
    if (document.querySelector("dialog[open]") !== null) return;
    if (isPlain && !hasKeys.value) return;
    const isArrowOnRange =
      event.target instanceof HTMLInputElement && event.target.type === "range" && name.includes("Arrow");
    if (isArrowOnRange) return;
    const onControl = event.target instanceof HTMLElement && event.target.closest("button, a, [role=tab]") !== null;
    if (onControl && (name === "Enter" || name === " ")) return;
    const command = commands.value.findLast(({ key }) => key.split("  ").includes(name));
    if (command === undefined) return;
    event.preventDefault();
    command.run(event);
  });
}
