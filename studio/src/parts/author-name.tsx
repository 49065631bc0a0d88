import { hueOf } from "../layers.ts";
import { Diamond } from "./icons.tsx";

const others: Readonly<Record<string, string>> = {
  caller: "the program or its user",
  compaction: "a compaction",
  settings: "settings of the request",
  engine: "turnlog itself",
};

/** Who changed a prompt, as `turnlog cache` names it: a layer is `redact@1.2.0`. */
export function AuthorName({ author }: { readonly author: string | null }) {
  if (author === null) return <span class="text-3">no change</span>;
  const at = author.lastIndexOf("@");
  if (at <= 0) return <span>{others[author] ?? author}</span>;
  const name = author.slice(0, at);
  return (
    <span>
      <span class={`hue ${hueOf(name)}`}>
        <Diamond name={name} number={null} /> {name}
      </span>{" "}
      <span class="text-3">{author.slice(at)}</span>
    </span>
  );
}
