import { createDemoEngine } from "../../../src/apps/cli/demo/agent.ts";
import { type Engine, engineOf } from "../../../src/engine/options/engine.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";

/** Nobody listens there: what asked would be told so. */
const provider = openaiResponses({ model: "demo", baseURL: "http://127.0.0.1:9/v1", apiKey: "demo" });

const hasty = defineMiddleware({ name: "shorten-results", version: "1.2.0" }, (next) => (turn) => {
  const last = turn.last;
  return next(last?.kind === "user" ? turn.replace(last, last.withText(`${last.text} ${Math.random()}`)) : turn);
});

const broken = defineMiddleware({ name: "shorten-results", version: "1.2.0" }, () => () => {
  throw new TypeError("there is no result");
});

const spoilt = process.env["SPOILT_LAYER"];

const spoiltBy = new Map([
  ["chance", hasty],
  ["throws", broken],
]);

/** The demo's engine; the environment can put a layer of chance, or one that throws, in the place of one of its own, or take one away. */
export const engine = (): Engine => {
  const { options } = createDemoEngine(provider);
  const layers = options.layers
    .filter(({ name }) => spoilt !== "gone" || name !== "ask-first")
    .map((layer) => (layer.name === hasty.name ? (spoiltBy.get(spoilt ?? "") ?? layer) : layer));
  return engineOf({ ...options, layers });
};
