import { useSignal } from "@preact/signals";
import { conversationPath, go, route } from "../route.ts";
import type { SourceError } from "../source.ts";
import { Failure } from "./failure.tsx";

/** What to do where no conversation is listed. */
export function Empty() {
  const isFiltered = ["state", "losses", "label"].some((name) => route.value.query.has(name));
  if (isFiltered)
    return (
      <div class="empty">
        <h2>No conversation matches</h2>
        <button type="button" class="button" onClick={() => go("/")}>
          Show all
        </button>
      </div>
    );
  return (
    <div class="empty">
      <h2>No conversations yet</h2>
      <p>Record one with the demo; it needs no key and no network:</p>
      <pre>turnlog demo</pre>
      <p>or from a program:</p>
      <pre>
        {
          'const store = await openStore("sqlite:./turnlog.db");\nconst conversation = store.conversation();\nawait conversation.append("What is the weather in Paris?");'
        }
      </pre>
      <p>It appears here by itself.</p>
    </div>
  );
}

/** The list may be denied, and a conversation allowed: then it opens by its id. */
export function ListFailure({ error, retry }: { readonly error: SourceError; readonly retry: () => void }) {
  const isDenied = error.code === "access-denied";
  const text = useSignal("");
  return (
    <div>
      <Failure
        error={error}
        what={isDenied ? "The list may not be read" : "The conversations cannot be listed"}
        retry={retry}
      />
      {isDenied ? (
        <form
          class="empty"
          onSubmit={(event) => {
            event.preventDefault();
            go(conversationPath(text.value.trim()));
          }}
        >
          <label>
            Open one by its id:{" "}
            <input class="field" value={text.value} onInput={(event) => (text.value = event.currentTarget.value)} />
          </label>
          <button type="submit" class="button">
            Open
          </button>
        </form>
      ) : null}
    </div>
  );
}
