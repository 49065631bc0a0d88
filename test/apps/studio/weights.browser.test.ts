import { expect, test } from "vitest";
import { pageWeights, weightBounds } from "../../../tools/page-weights.ts";

test("the page and the handler that it needs without a server stay small", () => {
  const { firstLoad, handler, handlerRaw, later } = pageWeights();
  expect(firstLoad).toBeLessThanOrEqual(weightBounds.firstLoad);
  expect(handler).toBeLessThanOrEqual(weightBounds.handler);
  expect(handlerRaw).toBeLessThanOrEqual(weightBounds.handlerRaw);
  // What is loaded by need is loaded in parts.
  expect(later.length).toBeGreaterThan(1);
  expect(Math.max(...later)).toBeLessThanOrEqual(weightBounds.firstLoad);
});
