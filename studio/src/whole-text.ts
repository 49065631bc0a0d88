/** The elements that have a title from here, not from the page. */
const titled = new WeakSet<Element>();

/** Gives a text that is cut for lack of room its whole as the title, once the pointer is on it: lists stay small, and every text can be read. */
export function showWholeTexts(): void {
  addEventListener("pointerover", ({ target }) => {
    const cut = target instanceof Element ? cutAround(target) : null;
    if (cut === null) return;
    titled.add(cut);
    cut.setAttribute("title", cut.textContent.trim());
  });
}

/** The nearest element that cuts the text which the pointer is on; none where a title says more. */
function cutAround(target: Element): Element | null {
  for (let element: Element | null = target; element !== null; element = element.parentElement) {
    if (titled.has(element)) {
      // It may have room by now, or another text.
      titled.delete(element);
      element.removeAttribute("title");
    }
    if (element.hasAttribute("title")) return null;
    if (isCut(element)) return element;
  }
  return null;
}

function isCut(element: Element): boolean {
  const { textOverflow, webkitLineClamp } = getComputedStyle(element);
  return (
    (textOverflow === "ellipsis" && element.scrollWidth > element.clientWidth) ||
    (webkitLineClamp !== "none" && element.scrollHeight > element.clientHeight)
  );
}
