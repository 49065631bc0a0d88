/** Puts the cursor into a field: at once if it is shown, so that it gets the next key, or else when it is drawn. */
export function focusOn(id: string): void {
  const focus = (): void => document.getElementById(id)?.focus();
  focus();
  if (document.activeElement?.id !== id) requestAnimationFrame(focus);
}
