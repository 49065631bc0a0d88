import { signal } from "@preact/signals";
import { keep, kept } from "./kept.ts";

type Theme = "system" | "light" | "dark";

const isTheme = (text: string | null): text is Theme => text === "system" || text === "light" || text === "dark";

const given = kept("turnlog-theme");
/** The theme that the reader chose. */
export const theme = signal<Theme>(isTheme(given) ? given : "system");

export const hasKeys = signal(kept("turnlog-keys") !== "off");

function setTheme(next: Theme): void {
  theme.value = next;
  keep("turnlog-theme", next);
  applyTheme();
}

export function applyTheme(): void {
  if (theme.value === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme.value;
}

/** From what is seen now to the other one. */
export function toggleTheme(): void {
  const isDark = theme.value === "system" ? matchMedia("(prefers-color-scheme: dark)").matches : theme.value === "dark";
  setTheme(isDark ? "light" : "dark");
}

export function setKeys(isOn: boolean): void {
  hasKeys.value = isOn;
  keep("turnlog-keys", isOn ? "on" : "off");
}
