import { anything, kindOf, optionsOf } from "../../base/options.ts";
import { type AppendInput, draftsOf } from "../../domain/chat-message.ts";
import type { Adjustments } from "../../domain/events/run-events.ts";
import { Turn } from "../../domain/turn.ts";
import type { Usage } from "../../projections/usage.ts";
import { type ModelSettings, modelSettings } from "./run-settings.ts";
import { outputSchemaOf, type SchemaIssue, type StandardSchema } from "./schema.ts";

/** A question of a layer to the model, outside the conversation. */
export type AsideRequest<Output = undefined> = ModelSettings & {
  /** The model's input: a Turn, or anything that `append` accepts. */
  readonly input: Turn | AppendInput | readonly AppendInput[];
  /** The schema that the answer has to match. */
  readonly output?: StandardSchema<unknown, Output>;
};

/** The model's answer to a layer; frozen. */
export type AsideAnswer<Output = undefined> = {
  readonly text: string;
  /**
   * The answer as parsed by the schema; undefined if no schema was given.
   *
   * @throws {OutputMismatchError} if the answer does not match the schema. Check `outputIssues` to avoid the throw.
   */
  readonly output: Output;
  readonly outputIssues: readonly SchemaIssue[];
  /** False if the answer broke off at a limit of the model or its server. */
  readonly isComplete: boolean;
  readonly usage: Usage;
};

const asideOptions = optionsOf<AsideRequest<unknown>>({ ...modelSettings.table, input: anything, output: anything });

/** @throws {TypeError | RangeError} if an option is unknown or invalid, or the input is empty. */
export function checkedAside(
  asked: AsideRequest<unknown>,
): Pick<AsideRequest<unknown>, "input" | "output"> & { readonly settings: Adjustments } {
  asideOptions.check("ctx.infer", asked);
  const { input, output, ...settings } = asked;
  const { length } = input instanceof Turn ? input : draftsOf(input);
  if (length === 0) throw new TypeError(`ctx.infer: input is ${kindOf(input)} without blocks: give what to ask`);
  const wanted = output === undefined ? {} : { output: outputSchemaOf("ctx.infer", output) };
  return { ...asked, settings: { ...settings, ...wanted } };
}
