import {
  isJsonList,
  isJsonObject,
  type JsonObject,
  type PostJsonOptions,
  type Provider,
  postJson,
} from "../../../../src/entries/provider.ts";
import { toyCodec } from "./codec.ts";

type ToyOptions = Pick<PostJsonOptions, "fetch"> & {
  readonly settings?: JsonObject;
  readonly systemAs?: "input" | "instructions";
};

/** A model that speaks the toy's wire at an address. */
export const toy = (
  url: string,
  { settings = { model: "toy" }, systemAs = "input", fetch }: ToyOptions = {},
): Provider => ({
  name: "toy",
  scope: `toy ${url} codec=${toyCodec.family}`,
  codec: toyCodec,
  capabilities: {},
  transport: "json",
  settings,
  systemAs,
  async infer(request) {
    const answer = await postJson(`${url}/talk`, request, fetch === undefined ? {} : { fetch });
    const { parts } = answer.response;
    for (const [outputIndex, item] of (isJsonList(parts) ? parts.filter(isJsonObject) : []).entries())
      request.onDelta({ type: "item-done", outputIndex, item });
    return answer;
  },
});
