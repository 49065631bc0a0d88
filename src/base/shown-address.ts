/** The address of a store for messages: without credentials, wherever they are. */
export const shownAddress = (url: string): string =>
  url.replace(/\/\/.*@/, "//").replaceAll(/([?&](?:user|password)=)[^&]*/gi, "$1…");
