/** In place of Node's modules, which the handler imports for writing, and never calls in a page. */
const absent = (): never => {
  throw new Error("this page only reads");
};

export const readFile = absent;
export const readFileSync = absent;
export const readlinkSync = absent;
export const hostname = (): string => "page";
export const uptime = (): number => 0;
export const createHash = absent;
export const emitWarning = (): undefined => undefined;
export const setTimeout = (ms: number): Promise<void> => new Promise((resolve) => globalThis.setTimeout(resolve, ms));

/** There are no runs here that code could be within. */
export class AsyncLocalStorage<Value> {
  getStore(): Value | undefined {
    return undefined;
  }

  run<Result>(_: Value, work: () => Result): Result {
    return work();
  }
}
