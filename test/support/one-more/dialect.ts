import { defineChatCodec, type Provider, postJson } from "../../../src/entries/provider.ts";

/** A server of Chat Completions that calls thoughts by a name of its own, and wants ids of calls short. */
export const oneMoreCodec = defineChatCodec({
  codec: "one-more/1",
  reasoningMember: "thoughts",
  outputLimit: "max_tokens",
  callIds: { taken: /^[a-z0-9_]{1,12}$/, length: 12 },
});

export const oneMore = (url: string): Provider => ({
  name: "one-more",
  scope: `one-more ${url} codec=${oneMoreCodec.family}`,
  codec: oneMoreCodec,
  capabilities: {},
  transport: "json",
  settings: { model: "any" },
  infer: (request) => postJson(`${url}/chat/completions`, request),
});
