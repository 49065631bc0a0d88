import { anything, kindOf, optionsOf } from "../../base/options.ts";
import { type AppendInput, draftsOf } from "../../domain/chat-message.ts";
import type { Adjustments } from "../../domain/events/run-events.ts";
import { Turn } from "../../domain/turn.ts";
import type { Usage } from "../../projections/usage.ts";
import { type ModelSettings, modelSettings } from "./run-settings.ts";
import { outputSchemaOf, type SchemaIssue, type StandardSchema } from "./schema.ts";

/** What a layer asks the model beside the conversation. */
export type AsideRequest<Output = undefined> = ModelSettings & {
  /** What the model reads: a Turn, or what `append` takes. */
  readonly input: Turn | AppendInput | readonly AppendInput[];
  /** What the answer is to be. */
  readonly output?: StandardSchema<unknown, Output>;
};

/** What the model answered to a layer; frozen. */
export type AsideAnswer<Output = undefined> = {
  readonly text: string;
  /**
   * The answer as the wanted schema gives it; undefined where none was wanted.
   *
   * @throws {OutputMismatchError} where the answer is not of the schema: `outputIssues` tells so without throwing.
   */
  readonly output: Output;
  readonly outputIssues: readonly SchemaIssue[];
  /** False where it broke off at a limit of the model or of its server. */
  readonly isComplete: boolean;
  readonly usage: Usage;
};

const asideOptions = optionsOf<AsideRequest<unknown>>({ ...modelSettings.table, input: anything, output: anything });

/** @throws {TypeError | RangeError} for an option that is none, a value that it cannot have, and where nothing is asked. */
export function checkedAside(
  asked: AsideRequest<unknown>,
): Pick<AsideRequest<unknown>, "input" | "output"> & { readonly settings: Adjustments } {
  asideOptions.check("ctx.infer", asked);
  const { input, output, ...settings } = asked;
  const { length } = input instanceof Turn ? input : draftsOf(input);
  if (length === 0) throw new TypeError(`ctx.infer: input is ${kindOf(input)} without blocks: say what is asked`);
  const wanted = output === undefined ? {} : { output: outputSchemaOf("ctx.infer", output) };
  return { ...asked, settings: { ...settings, ...wanted } };
}
