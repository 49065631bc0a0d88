/**
 * A number in a JSON text that JavaScript would change: too large or too small, an integer beyond 2^53, -0, or with more digits
 * than JavaScript keeps. It keeps its text, also when it is written again; two literals are equal if their texts are.
 */
export interface NumberLiteral {
  /** Its text in the JSON. */
  readonly text: string;
  /** The nearest number, for sums. */
  valueOf(): number;
  toString(): string;
  toJSON(): unknown;
}

/** The class of number literals, which distinguishes them from objects. */
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

// Newer than the compiler's library: returns an object that JSON.stringify writes verbatim.
const rawJson = Reflect.get(JSON, "rawJSON") as (text: string) => unknown;

/** Why a JSON text cannot keep a number as it is, as words that follow its name; null if it can. */
export function numberRefusal(value: number): string | null {
  if (!Number.isFinite(value)) return `${value}`;
  if (Object.is(value, -0)) return "-0, which JavaScript serializes as 0: give 0";
  const isExact = !Number.isInteger(value) || Number.isSafeInteger(value);
  return isExact ? null : `${value}, an integer beyond 2^53, which JavaScript rounds: give it as a text`;
}

/** Whether JavaScript would write a number of a JSON text with another value. */
export function isChanged(source: string, value: number): boolean {
  if (numberRefusal(value) !== null) return true;
  const [mantissa = ""] = source.split(/[eE]/);
  const digits = mantissa.replace(/[-.]/g, "").replace(/^0+|0+$/g, "");
  // A JavaScript number has 17 digits at most.
  return digits.length > 17 || (value === 0 && digits !== "");
}

/** Whether a text may contain numbers that JavaScript would change; a false positive only costs a slower parse. */
export const mayBeChanged = (json: string): boolean => inside.test(json) || alone.test(json);

const suspicious = /(?:-0(?:\.0*)?(?![.\d])|-?(?:\d{16,}|[1-9][\d.]{18,}|0\.\d{18,}|[\d.]+[eE](?:\+?\d|-\d{3})))/
  .source;
// Two expressions, because every event's text is scanned, and a single one that also matches at the start takes half as long again.
const inside = new RegExp(`[[:,]\\s*${suspicious}`);
const alone = new RegExp(`^\\s*${suspicious}`);
