import { useLayoutEffect, useRef } from "preact/hooks";
import type { StripRequest, Verdict } from "../../../src/apps/studio/page-documents.ts";
import { theme } from "../theme.ts";

const badness: readonly Verdict[] = ["aside", "chained", "first", "whole", "rebased", "full", "failed"];

type BarsProps = {
  readonly requests: readonly (StripRequest | null)[];
  readonly most: number;
  readonly current: number;
  readonly width: number;
};

const [top, height] = [0, 124];

/** Many requests on a canvas: one bar for several, and the worst verdict wins. */
export function Bars({ requests, most, current, width }: BarsProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const scheme = theme.value;
  useLayoutEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (element == null || context == null) return;
    const scale = devicePixelRatio;
    element.width = width * scale;
    element.height = height * scale;
    context.scale(scale, scale);
    const color = colorsOf(element);
    const bars = Math.min(requests.length, Math.floor(width));
    const step = width / bars;
    for (let bar = 0; bar < bars; bar += 1) {
      const from = Math.floor((bar * requests.length) / bars);
      const worst = worstIn(requests, from, Math.max(from + 1, Math.floor(((bar + 1) * requests.length) / bars)));
      if (worst === null) continue;
      const [left, wide] = [bar * step, Math.max(1, step - (step > 3 ? 1 : 0))];
      const [sent, held] = [Math.max(1.5, (worst.bytes / most) * 60), (worst.heldBytes / most) * 60];
      context.fillStyle = color["--line-2"];
      context.globalAlpha = 0.5;
      context.fillRect(left, 88 - sent - held, wide, held);
      context.globalAlpha = 1;
      context.fillStyle = color[toneOf(worst.verdict)];
      context.fillRect(left, 88 - sent, wide, sent);
      const { tokens } = worst;
      if (tokens?.read == null) continue;
      const again = tokens.again / Math.max(1, tokens.input);
      context.fillStyle = color[again > 0.5 ? "--bad" : again > 0.1 ? "--warn" : "--text-2"];
      context.fillRect(left, 98, wide, 4);
    }
    context.fillStyle = color["--accent"];
    context.fillRect(Math.round((current + 0.5) * (width / requests.length)) - 1, top, 2, height);
  }, [requests, most, current, width, scheme]);
  return <canvas ref={canvas} aria-hidden="true" />;
}

const toneOf = (verdict: Verdict) =>
  verdict === "rebased" ? "--warn" : verdict === "full" || verdict === "failed" ? "--bad" : "--text-2";

function worstIn(requests: readonly (StripRequest | null)[], from: number, to: number): StripRequest | null {
  let worst: StripRequest | null = null;
  for (let place = from; place < to; place += 1) {
    const each = requests[place];
    if (each != null && (worst === null || badness.indexOf(each.verdict) > badness.indexOf(worst.verdict)))
      worst = each;
  }
  return worst;
}

const names = ["--line-2", "--warn", "--bad", "--text-2", "--accent"] as const;

/** A canvas does not know light-dark(), but what it comes to. */
function colorsOf(element: HTMLElement): Readonly<Record<(typeof names)[number], string>> {
  const [line, warn, bad, text, accent] = names.map((name) => {
    element.style.color = `var(${name})`;
    return getComputedStyle(element).color;
  });
  return {
    ...{ "--line-2": line ?? "", "--warn": warn ?? "", "--bad": bad ?? "", "--text-2": text ?? "" },
    "--accent": accent ?? "",
  };
}
