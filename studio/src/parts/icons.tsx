import type { RowSign, Verdict } from "../../../src/apps/studio/page-documents.ts";
import { hueOf } from "../layers.ts";

type IconProps = { readonly class?: string; readonly label?: string };

const Svg = ({ d, fill, label, class: name = "" }: IconProps & { readonly d: string; readonly fill?: boolean }) => (
  <svg
    class={`icon ${name}`}
    viewBox="0 0 16 16"
    fill={fill ? "currentColor" : "none"}
    stroke={fill ? "none" : "currentColor"}
    {...(label === undefined ? { "aria-hidden": true } : { role: "img", "aria-label": label })}
  >
    <path d={d} />
  </svg>
);

export const Logo = () => (
  <svg class="icon accent" viewBox="0 0 16 16" fill="none" stroke="currentColor" aria-hidden="true">
    <path d="M1 4h9M1 8h14M1 12h5M12 12h3" stroke-width="1.75" />
    <circle cx="13" cy="4" r="1.75" />
    <circle cx="9" cy="12" r="1.75" />
  </svg>
);

export const SearchIcon = () => <Svg d="M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9ZM10.5 10.5 14 14" />;
export const ThemeIcon = () => (
  <svg class="icon" viewBox="0 0 16 16" fill="none" stroke="currentColor" aria-hidden="true">
    <circle cx="8" cy="8" r="6" />
    <path d="M8 2a6 6 0 0 1 0 12Z" fill="currentColor" stroke="none" />
  </svg>
);
export const LeftIcon = () => <Svg d="m10 3-5 5 5 5" />;
export const RightIcon = () => <Svg d="m6 3 5 5-5 5" />;
export const DownIcon = () => <Svg d="m3 6 5 5 5-5" />;
export const CheckIcon = (props: IconProps) => <Svg d="m3 8.5 3.5 3.5L13 4.5" {...props} />;
export const ClockIcon = (props: IconProps) => (
  <Svg d="M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 4.5V8l2.5 1.5" {...props} />
);
export const WarnIcon = (props: IconProps) => <Svg d="M8 2.2 14.5 13.5h-13ZM8 6.5v3.2M8 11.4v.6" {...props} />;

/** How a request was sent: ring, filled circle, bent arrow, cross; or that it failed: the triangle of failures in the log. */
export function ChainSign({ verdict, label }: { readonly verdict: Verdict | "nothing"; readonly label?: string }) {
  const told = label === undefined ? {} : { label };
  switch (verdict) {
    case "first":
    case "nothing":
      return <Svg d="M8 11.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7Z" fill {...told} />;
    case "rebased":
      return <Svg class="warn" d="M6 3 2.5 6.5 6 10M3 6.5h6.5a3.5 3.5 0 0 1 3.5 3.500V13" {...told} />;
    case "failed":
      return <WarnIcon class="bad" {...told} />;
    case "full":
      return <Svg class="bad" d="m4 4 8 8M12 4l-8 8" {...told} />;
    case "whole":
      return <Svg d="M4.500 4.500h7v7h-7Z" fill {...told} />;
    default:
      return <Svg d="M8 11.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7Z" {...told} />;
  }
}

/** A layer's place in its stack. */
export function Diamond({
  name,
  number,
  isIdle,
}: {
  readonly name: string;
  readonly number: number | null;
  readonly isIdle?: boolean;
}) {
  return (
    <span class={`diamond ${isIdle === true ? "idle" : hueOf(name)}`} aria-hidden="true">
      <span>{number ?? ""}</span>
    </span>
  );
}

/** Who made an event. */
export function ActorSign({
  sign,
  layer,
  number,
}: {
  readonly sign: RowSign;
  readonly layer?: string | null;
  readonly number?: number | null;
}) {
  switch (sign) {
    case "layer":
      return <Diamond name={layer ?? ""} number={number ?? null} />;
    case "user":
    case "app":
      return <Svg class="sign" d="M8 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8Z" fill />;
    case "tool":
      return <Svg class="sign" d="M8 3.500 13 12.500H3Z" />;
    case "request":
      return <Svg class="strong" d="M2.500 8h11M9.500 4l4 4-4 4" />;
    case "answer":
      return <Svg class="strong" d="M13.500 8h-11M6.500 4l-4 4 4 4" />;
    case "bad":
      return <WarnIcon class="bad" />;
    case "hole":
      return <Svg class="sign" d="M4 8h8" />;
    default:
      return <Svg class="sign" d="M4.500 4.500h7v7h-7Z" />;
  }
}
