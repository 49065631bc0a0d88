/** The address of a store as people may see it: without credentials, which would stay in terminals and logs. */
export const shownUrl = (url: string): string => url.replace(/\/\/.*@/, "//");
