import type { JsonValue } from "../../base/json.ts";
import type { Block } from "../../domain/block.ts";
import type { InferenceRequestedData } from "../../domain/events/inference-events.ts";
import type { ProposedEvent } from "../../domain/events/recorded.ts";

/** Something a run does that others can see: a durable write, or a call to the outside. */
export type BreakpointEffect =
  | { readonly kind: "append"; readonly entries: readonly ProposedEvent[] }
  | {
      readonly kind: "inference";
      readonly frame: string;
      readonly request: InferenceRequestedData;
      readonly bodyText: string;
    }
  | { readonly kind: "tool"; readonly frame: string; readonly call: Block }
  | { readonly kind: "effect"; readonly frame: string; readonly name: string };

/** A place where a run can be held: before an effect begins, or after it has ended. */
export type Breakpoint = BreakpointEffect & { readonly phase: "before" | "after" };

/** Replaces an effect that would begin: the response, the tool's output or the effect's value. */
export type Injected = {
  readonly answer: JsonValue;
  /** If given, a layer's effect fails with this message instead. */
  readonly failure?: string;
};

/** Holds a run at its stops as long as it likes; what it returns before an effect replaces the effect. */
export type Interceptor = (stop: Breakpoint) => Promise<Injected | null>;

/** Runs an effect, held before and after it; `injected` turns the interceptor's value into the effect's result. */
export async function intercept<T>(
  interceptor: Interceptor | null,
  effect: BreakpointEffect,
  {
    work,
    injected,
  }: { readonly work: () => Promise<T>; readonly injected: (answer: JsonValue, failure?: string) => T },
): Promise<T> {
  if (interceptor === null) return work();
  const given = await interceptor({ ...effect, phase: "before" });
  const result = given === null ? await work() : injected(given.answer, given.failure);
  await interceptor({ ...effect, phase: "after" });
  return result;
}
