import axe from "axe-core";
import { expect } from "vitest";
import type { Visited } from "./browser.ts";

type Violation = {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
};

/** Fails for what axe finds wrong on a page: by all of its rules, or by some. */
export async function expectAccessible(page: Visited, rules?: readonly string[]): Promise<void> {
  if (await page.evaluate("typeof axe === 'undefined'")) await page.evaluate(axe.source);
  // axe says it in this form. The page has one style sheet, of its own: nothing is to be loaded before.
  const { violations } = await page.evaluate<{ readonly violations: readonly Violation[] }>(
    `axe.run(${JSON.stringify({ preload: false, resultTypes: ["violations"], runOnly: rules })})`,
  );
  expect(
    violations.flatMap(({ id: rule, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${rule}: ${html} ${failureSummary}`),
    ),
  ).toEqual([]);
}

/** Fails if a page is wider than its window, has a head that is cut off, or something to press that is lower than 24 pixels. */
export async function expectFits(page: Visited, what: string): Promise<void> {
  expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), what).toBe(true);
  const cut = await page.evaluate(`[...document.querySelectorAll(".head :is(button, input, a, span)")]
    .filter((each) => each.getBoundingClientRect().right > innerWidth || each.getBoundingClientRect().top < 0)
    .map((each) => each.outerHTML)`);
  expect(cut, what).toEqual([]);
  const small = await page.evaluate(`[...document.querySelectorAll("button, [role=tab]")]
    .map((each) => ({ text: each.textContent, height: each.getBoundingClientRect().height }))
    .filter(({ height }) => height > 0 && height < 24)`);
  expect(small, what).toEqual([]);
}
