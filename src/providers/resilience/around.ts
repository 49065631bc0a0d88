import { messageOf } from "../../base/error-message.ts";
import { isJsonObject } from "../../base/json.ts";
import { kindOf } from "../../base/options.ts";
import { unwatched } from "../../base/unwatched.ts";
import { withMembers } from "../../base/with-members.ts";
import type { Provider } from "../../engine/ports/provider.ts";

/** @throws {TypeError} if a wrapper was given something else than a provider. */
export function checkWrapped(wrapper: string, provider: unknown): void {
  if (!isJsonObject(provider) || typeof provider["infer"] !== "function")
    throw new TypeError(`${wrapper} takes a provider, not ${kindOf(provider)}: write ${wrapper}(provider, { … })`);
}

/**
 * The same provider with some members replaced. A member that the provider lacks stays absent, unless it is one of `added`. Every other
 * function is called on the provider itself, so that a class with private members can be wrapped.
 */
export function around<Given extends Provider>(
  provider: Given,
  own: Partial<Provider>,
  added: Pick<Partial<Provider>, "timeoutMs"> = {},
): Given {
  const wrapped = withMembers(provider, (name, member) => {
    if (member !== undefined && Object.hasOwn(own, name)) return Reflect.get(own, name);
    if (typeof member !== "function") return member;
    return (...given: readonly unknown[]): unknown => Reflect.apply(member, provider, given);
  });
  for (const [name, value] of Object.entries(added))
    Object.defineProperty(wrapped, name, { value, enumerable: true, configurable: true });
  return wrapped;
}

/** Calls a callback of the caller, whose failure must not become a failure of the request. */
export function tell<Value>(what: string, callback: ((value: Value) => unknown) | undefined, value: Value): void {
  try {
    unwatched(callback?.(value));
  } catch (error) {
    process.emitWarning(`${what} failed: ${messageOf(error)}`, "TurnlogWarning");
  }
}
