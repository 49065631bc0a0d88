/** The values to mask in what a provider says, with the names to show in their place. */
export type Masked = readonly { readonly name: string; readonly value: string }[];

type Needle = { readonly name: string; readonly form: string };
type Span = { readonly start: number; readonly end: number; readonly name: string };

/** Every form in which a value may be written inside other texts: as it is, in JSON, in JSON within JSON, in an address. */
export function needlesOf(masked: Masked): readonly Needle[] {
  return masked.flatMap(({ name, value }) => {
    const json = jsonForms(value);
    const address = value.isWellFormed() ? [encodeURIComponent(value)] : [];
    return [...new Set([value, ...json, ...json.flatMap(jsonForms), ...address])].map((form) => ({ name, form }));
  });
}

/** JSON writers differ in escapes of non-ASCII characters, in the case of hex digits, and in slashes. */
function jsonForms(value: string): readonly string[] {
  const json = JSON.stringify(value).slice(1, -1);
  const ascii = json.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  const upper = ascii.replace(/\\u[0-9a-f]{4}/g, (unit) => `\\u${unit.slice(2).toUpperCase()}`);
  return [json, ascii, upper, json.replaceAll("/", "\\/")];
}

/** Where a text has secrets, from left to right; overlapping ones are merged. A text that is cut off may end within one. */
export function spansOf(text: string, needles: readonly Needle[], isCut: boolean): readonly Span[] {
  const found: Span[] = [];
  for (const { name, form } of needles) {
    for (let start = text.indexOf(form); start >= 0; start = text.indexOf(form, start + 1)) {
      found.push({ start, end: start + form.length, name });
    }
    const begun = isCut ? begunLength(text, form) : 0;
    if (begun >= cutLengthMin) found.push({ start: text.length - begun, end: text.length, name });
  }
  const merged: Span[] = [];
  for (const span of found.sort((left, right) => left.start - right.start || right.end - left.end)) {
    const last = merged.at(-1);
    if (last === undefined || span.start >= last.end) merged.push(span);
    else merged[merged.length - 1] = { ...last, end: Math.max(last.end, span.end) };
  }
  return merged;
}

/** The pieces of one text: a mask replaces the beginning of each span, and the rest of the span is removed. */
export function replaced(texts: readonly string[], spans: readonly Span[]): readonly string[] {
  let offset = 0;
  return texts.map((text) => {
    const from = offset;
    offset += text.length;
    let kept = "";
    let at = from;
    for (const { start, end, name } of spans) {
      if (end <= at || start >= offset) continue;
      kept += text.slice(at - from, Math.max(start, at) - from);
      if (start >= from) kept += `[secret ${name}]`;
      at = Math.min(end, offset);
    }
    return kept + text.slice(at - from);
  });
}

/** How many characters at the end of a text may be the beginning of a secret. */
export function heldBack(text: string, needles: readonly Needle[]): number {
  const begun = Math.max(0, ...needles.map(({ form }) => begunLength(text, form)));
  const boundary = text.length - begun;
  // A value that has begun may overlap with a complete one: they are masked together.
  const crossing = spansOf(text, needles, false).find(({ start, end }) => start < boundary && end > boundary);
  return text.length - (crossing?.start ?? boundary);
}

/** How many characters of the end are an incomplete value. */
function begunLength(text: string, form: string): number {
  for (let length = Math.min(form.length - 1, text.length); length > 0; length -= 1) {
    if (text.endsWith(form.slice(0, length))) return length;
  }
  return 0;
}

/** At least this much of a secret is masked at the end of a text that is cut off; less reveals nothing. */
const cutLengthMin = 4;
