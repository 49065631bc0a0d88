/** What this browser keeps of a choice; null if nothing, or if a page from disk has no storage. */
export function kept(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

/** Without storage it lasts as long as the page. */
export function keep(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    // There is none, or it is full.
  }
}
