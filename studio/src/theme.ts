import { signal } from "@preact/signals";

type Theme = "system" | "light" | "dark";

const stored = (name: string): string | null => {
  try {
    return localStorage.getItem(name);
  } catch {
    // A page from disk may have no storage.
    return null;
  }
};

const store = (name: string, value: string): void => {
  try {
    localStorage.setItem(name, value);
  } catch {
    // The choice then lasts as long as the page.
  }
};

const isTheme = (text: string | null): text is Theme => text === "system" || text === "light" || text === "dark";

const given = stored("turnlog-theme");
/** The theme that the reader chose. */
export const theme = signal<Theme>(isTheme(given) ? given : "system");

export const hasKeys = signal(stored("turnlog-keys") !== "off");

function setTheme(next: Theme): void {
  theme.value = next;
  store("turnlog-theme", next);
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
  store("turnlog-keys", isOn ? "on" : "off");
}
