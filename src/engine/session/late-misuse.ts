import { emitWarning } from "node:process";
import type { LayerError } from "../stack/middleware.ts";

/**
 * What layers did that had returned. Nobody waits for them any more, so it fails the run when that ends, and is a warning of
 * the process after that.
 */
export class LateMisuse {
  #first: LayerError | null = null;
  #hasEnded = false;

  note(error: LayerError): void {
    if (this.#hasEnded) emitWarning(error);
    else this.#first ??= error;
  }

  throwFirst(): void {
    if (this.#first !== null) throw this.#first;
  }

  end(): void {
    this.#hasEnded = true;
  }
}
