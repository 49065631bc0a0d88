import type { Provider } from "../../../src/engine/ports/provider.ts";

/** The providers of a world, which keep their connections from run to run; now and then a run has one of its own. */
export class Connected implements AsyncDisposable {
  readonly #all: Provider[] = [];
  readonly #shared = new Map<string, Provider>();

  provider(name: string, isShared: boolean, make: () => Provider): Provider {
    const known = isShared ? this.#shared.get(name) : undefined;
    if (known !== undefined) return known;
    const provider = make();
    this.#all.push(provider);
    if (isShared) this.#shared.set(name, provider);
    return provider;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const provider of this.#all) await provider[Symbol.asyncDispose]?.();
  }
}
