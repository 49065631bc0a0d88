import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import type { ErrorDocument } from "../../src/apps/studio/page-documents.ts";

/** What a request of the page failed with. */
export class SourceError extends Error {
  readonly code: string;
  readonly hint: string;

  constructor({ code, message, hint }: ErrorDocument["error"]) {
    super(message);
    this.code = code;
    this.hint = hint;
  }
}

/** Where the page's data comes from: a server, or a handler in the page itself. */
type Source = (path: string, init?: RequestInit) => Promise<Response>;

let source: Source = (path, init) => fetch(path, init);

export const readFrom = (given: Source): void => {
  source = given;
};

/** Whether the last request reached the studio. */
export const isConnected = signal(true);

export const load = <T>(path: string, signal?: AbortSignal): Promise<T> =>
  ask<T>(path, signal === undefined ? {} : { signal });

/** Asks the studio to write. */
export const send = <T>(path: string, body: unknown): Promise<T> =>
  ask<T>(path, { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } });

async function ask<T>(path: string, init: RequestInit): Promise<T> {
  const { signal } = init;
  let answer: Response;
  try {
    answer = await source(path, init);
  } catch (error) {
    if (signal?.aborted !== true) isConnected.value = false;
    throw signal?.aborted === true
      ? error
      : new SourceError({
          code: "offline",
          message: "the studio does not answer",
          hint: "It may have ended: start it again in the terminal.",
        });
  }
  isConnected.value = true;
  const document: unknown = await answer.json();
  // A page without a server cannot stop a request: its answer may come after that to a later one.
  signal?.throwIfAborted();
  if (!answer.ok)
    throw new SourceError(
      isError(document)
        ? document.error
        : { code: String(answer.status), message: "the studio refused this", hint: "" },
    );
  // The types of routes are those that the handler's sources declare.
  return document as T;
}

const isError = (document: unknown): document is ErrorDocument =>
  typeof document === "object" && document !== null && "error" in document;

export type Loaded<T> = {
  /** The newest answer; an older one stays until the next is there. */
  readonly data: T | null;
  readonly error: SourceError | null;
  /** Whether the data is of an earlier path. */
  readonly isOld: boolean;
  /** Nothing is there, and it takes long enough to say so. */
  readonly isSlow: boolean;
  readonly retry: () => void;
};

type State<T> = { readonly path: string | null; readonly data: T | null; readonly error: SourceError | null };

/** Before that, nothing is shown for what loads. */
const quietMs = 120;

/** Loads a path; asks again when the version changes. One request is under way at a time, and the newest path wins. */
export function useLoaded<T>(path: string | null, version: unknown = null): Loaded<T> {
  const [state, setState] = useState<State<T>>({ path: null, data: null, error: null });
  const [tries, setTries] = useState(0);
  const [isSlow, setSlow] = useState(false);
  const isFirst = useRef(true);
  useEffect(() => {
    if (path === null) return undefined;
    const controller = new AbortController();
    const timer = setTimeout(() => setSlow(true), quietMs);
    load<T>(path, controller.signal)
      .then(
        (data) => setState({ path, data, error: null }),
        (error: unknown) => {
          if (controller.signal.aborted) return;
          const failed =
            error instanceof SourceError
              ? error
              : new SourceError({ code: "internal", message: String(error), hint: "" });
          setState((old) => ({ path, data: old.data, error: failed }));
        },
      )
      .finally(() => {
        clearTimeout(timer);
        if (!controller.signal.aborted) setSlow(false);
      });
    isFirst.current = false;
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [path, version, tries]);
  return {
    data: state.data,
    error: state.path === path ? state.error : null,
    isOld: state.path !== path,
    isSlow: isSlow && state.data === null,
    retry: () => setTries((count) => count + 1),
  };
}
