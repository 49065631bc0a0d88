import { customAlphabet } from "nanoid";

// Without `-`, so that a double click selects the whole id.
const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
const draw = customAlphabet(letters, 21);

/** A new id: the prefix, `_`, and 21 characters. */
export const randomId = (prefix: string): string => `${prefix}_${draw()}`;
