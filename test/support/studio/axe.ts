import axe from "axe-core";
import { expect } from "vitest";
import type { Visited } from "./browser.ts";

type Violation = {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
};

/** Fails for what axe finds wrong on a page. */
export async function expectAccessible(page: Visited): Promise<void> {
  await page.evaluate(axe.source);
  // axe says it in this form.
  const { violations } = await page.evaluate<{ readonly violations: readonly Violation[] }>("axe.run()");
  expect(
    violations.flatMap(({ id: rule, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${rule}: ${html} ${failureSummary}`),
    ),
  ).toEqual([]);
}

/** Fails if a page is wider than its window, or has something to press that is lower than 24 pixels. */
export async function expectFits(page: Visited, what: string): Promise<void> {
  expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), what).toBe(true);
  const small = await page.evaluate(`[...document.querySelectorAll("button, [role=tab]")]
    .map((each) => ({ text: each.textContent, height: each.getBoundingClientRect().height }))
    .filter(({ height }) => height > 0 && height < 24)`);
  expect(small, what).toEqual([]);
}
