/** Largest event that any store accepts: the UTF-8 bytes of its envelope as JSON, with `data` as a string in it. */
export const maxEventBytes = 256 * 1024;

/** Largest append that any store accepts: the sum over its events. */
export const maxAppendBytes = 896 * 1024;
