/**
 * A number of a JSON text that JavaScript would change: one too large or too small for it, an integer beyond 2^53, -0, one of
 * more digits than it keeps. It stays as it came, also when it is written again; two are equal by their text.
 */
export interface NumberLiteral {
  /** As it stands in the JSON text. */
  readonly text: string;
  /** The nearest number, for sums. */
  valueOf(): number;
  toString(): string;
  toJSON(): unknown;
}

/** Makes one, and tells them from objects. */
export const NumberLiteral: new (text: string) => NumberLiteral = class implements NumberLiteral {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
    Object.freeze(this);
  }

  valueOf(): number {
    return Number(this.text);
  }

  toString(): string {
    return this.text;
  }

  toJSON(): unknown {
    return rawJson(this.text);
  }
};

// Newer than the compiler's library: it makes what JSON.stringify writes as it stands.
const rawJson = Reflect.get(JSON, "rawJSON") as (text: string) => unknown;

/** Why a number cannot be kept in a JSON text as it is, in words that follow its name; null where it can. */
export function numberRefusal(value: number): string | null {
  if (!Number.isFinite(value)) return `${value}`;
  if (Object.is(value, -0)) return "-0, which JavaScript writes as 0: give 0";
  const isExact = !Number.isInteger(value) || Number.isSafeInteger(value);
  return isExact ? null : `${value}, an integer beyond 2^53, which JavaScript rounds: give it as a text`;
}

/** Whether JavaScript would write a number of a JSON text otherwise than as a number of the same value. */
export function isChanged(source: string, value: number): boolean {
  if (numberRefusal(value) !== null) return true;
  const [mantissa = ""] = source.split(/[eE]/);
  const digits = mantissa.replace(/[-.]/g, "").replace(/^0+|0+$/g, "");
  // A number of JavaScript has 17 digits at most.
  return digits.length > 17 || (value === 0 && digits !== "");
}

/** Finds a text with numbers that may be changed; in the strings of others it costs no more than a slower parse. */
export const mayBeChanged = (json: string): boolean => inside.test(json) || alone.test(json);

const suspicious = /(?:-0(?:\.0*)?(?![.\d])|-?(?:\d{16,}|[1-9][\d.]{18,}|0\.\d{18,}|[\d.]+[eE](?:\+?\d|-\d{3})))/
  .source;
// Two, because every event's text is looked through, and one expression that may also begin with the text takes half as long again.
const inside = new RegExp(`[[:,]\\s*${suspicious}`);
const alone = new RegExp(`^\\s*${suspicious}`);
