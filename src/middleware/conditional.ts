import { anything, checkFunction, checkText, kindOf, optionsOf, required } from "../base/options.ts";
import { unwatched } from "../base/unwatched.ts";
import type { Turn } from "../domain/turn.ts";
import { checkLayer, defineMiddleware, type Layer, type LayerContext } from "../engine/ports/middleware.ts";

export type ConditionalOptions<Context = unknown> = {
  /** The name in the log of what the chosen layer changes. */
  readonly name: string;
  /** Raise the major version when the condition or the major version of one of the layers changes. */
  readonly version: string;
  /**
   * Whether this call goes through `layer`. It may depend on the Turn and on what `ctx` takes from the log. For anything else, such as
   * `ctx.context`, return `ctx.effect("…", () => …)`, which records the answer for a re-execution.
   */
  readonly when: (turn: Turn, ctx: LayerContext<Context>) => boolean | Promise<boolean>;
  readonly layer: Layer<Context>;
  /** The layer for all other calls; without it they go straight to the next layer. */
  readonly otherwise?: Layer<Context>;
};

const conditionalOptions = optionsOf<ConditionalOptions>({
  ...{ name: anything, version: anything, when: required<ConditionalOptions["when"]>(checkFunction) },
  ...{ layer: required<Layer>(anything), otherwise: anything },
});

/**
 * A layer that is used for some calls only.
 *
 * @throws {TypeError} for a tool loop: its tools are offered with every request, whether the loop runs them or not.
 */
export function conditional<Context = unknown>(options: ConditionalOptions<Context>): Layer<Context> {
  conditionalOptions.checkNames("conditional", options);
  const name = checkText("conditional: name", options.name, "the layer's name in the log");
  conditionalOptions.checkValues(`conditional '${name}': `, options);
  const { version, when, layer, otherwise } = options;
  checkChosen(`conditional '${name}': layer`, layer);
  if (otherwise !== undefined) checkChosen(`conditional '${name}': otherwise`, otherwise);
  const config = { layer: described(layer), otherwise: otherwise === undefined ? null : described(otherwise) };
  return defineMiddleware<Context>({ name, version, config }, (next) => async (turn, ctx) => {
    const isMet: unknown = await when(turn, ctx);
    if (typeof isMet !== "boolean") {
      unwatched(isMet);
      throw new TypeError(`conditional '${name}': when returned ${kindOf(isMet)}: return true or false`);
    }
    const chosen = isMet ? layer : otherwise;
    return chosen === undefined ? next(turn) : chosen.handle(next)(turn, ctx);
  });
}

function checkChosen<Context>(where: string, layer: Layer<Context>): void {
  checkLayer(where, layer);
  if (layer.tools !== undefined)
    throw new TypeError(`${where} is a tool loop, whose tools are offered with every request: list it in middleware`);
}

const described = <Context>({ name, version, configDigest }: Layer<Context>) => ({ name, version, configDigest });
