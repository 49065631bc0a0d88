import { describe, expect, test } from "vitest";
import { readPriceFile } from "../../../../src/analysis/costs/prices/price-file.ts";
import { priceOfCell } from "../../../../src/analysis/costs/prices/price-of-cell.ts";
import { type BillCell, nothingBilled } from "../../../../src/analysis/costs/rows/bill-cells.ts";
import { dollarText } from "../../../../src/base/dollars.ts";
import { sha256Hex } from "../../../../src/base/sha256.ts";
import { litellmFile, modelsDevFile } from "../../../support/bill/price-files.ts";

const openai = "openai-responses https://api.openai.com/v1";
const azure = "openai-responses https://mine.openai.azure.com/openai/v1";
const router = "openai-responses https://openrouter.ai/api/v1";
const own = "chat http://127.0.0.1:8000/v1";

const cell = (changes: Partial<BillCell>): BillCell => ({
  ...{ day: "2026-09-01", endpoint: openai, declared: null, served: null, tier: null, size: 0, isPaid: false },
  ...{ run: null, ...nothingBilled, ...changes },
});

/** The price of the cell, its entry, and what has no price. */
function priced(text: string, changes: Partial<BillCell>, priceAs: Readonly<Record<string, string>> = {}) {
  const { amount, entry, unpriced } = priceOfCell(cell(changes), readPriceFile(text, { file: "p.json", priceAs }));
  const lacking = unpriced.map(({ class: each, tokens, why }) => `${tokens} ${each}: ${why}`);
  return { money: dollarText(amount), entry: entry?.name ?? null, lacking };
}

describe.each([
  ["LiteLLM's form", litellmFile, "litellm", ""],
  ["models.dev's form", modelsDevFile, "models.dev", "openai/"],
])("a price file of %s", (_, text, format, prefix) => {
  test("is recognised by its content, and named by its hash", () => {
    expect(readPriceFile(text, { file: "p.json" })).toMatchObject({ file: "p.json", format, sha256: sha256Hex(text) });
  });

  test("is read behind a byte order mark", () => {
    expect(readPriceFile(`\uFEFF${text}`, { file: "p.json" }).format).toBe(format);
  });

  test("prices each class of tokens to the last digit", () => {
    const tokens = { uncached: 8, read: 1_000, written: { "30m": 3_000, any: 12 }, output: 50, reasoning: 30 };
    expect(priced(text, { served: "gpt-5.6-sol", ...tokens })).toEqual({
      // 8 x 4 + 1000 x 0.4 + 3012 x 5 + 50 x 20, in millionths.
      money: "0.016492",
      entry: `${prefix}gpt-5.6-sol`,
      lacking: [],
    });
  });

  test("finds the model that answered, else the one that was asked for", () => {
    const tokens = { uncached: 1_000_000 };
    expect(priced(text, { served: "gpt-5.4", declared: "gpt-5.6-sol", ...tokens }).money).toBe("2.5");
    expect(priced(text, { served: "gpt-5.6-sol-2026-07-09", declared: "gpt-5.6-sol", ...tokens }).money).toBe("4");
  });

  test("has the prices of the vendor behind the address", () => {
    expect(priced(text, { endpoint: azure, served: "gpt-5.4", uncached: 1_000_000 }).entry).toBe("azure/gpt-5.4");
  });

  test("prices a deployment as the entry that the caller names", () => {
    const asked = { endpoint: azure, declared: "prod-eu", uncached: 1_000_000 };
    expect(priced(text, asked)).toEqual({ money: "0", entry: null, lacking: ["1000000 uncached: no-entry"] });
    expect(priced(text, asked, { "prod-eu": "azure/gpt-5.4" })).toMatchObject({ money: "3", lacking: [] });
  });

  test("is refused if it lacks such an entry", () => {
    expect(() => readPriceFile(text, { file: "p.json", priceAs: { mine: "nobody/none" } })).toThrow(
      expect.objectContaining({ code: "prices-unusable", message: "p.json has no entry 'nobody/none'" }),
    );
  });

  test("has other prices for the whole request above a number of tokens", () => {
    const asked = { endpoint: own, served: "gemini-2.5-pro", uncached: 300_000, output: 1_000 };
    expect(priced(text, { ...asked, size: 128_000 }).money).toBe("0.385");
    expect(priced(text, { ...asked, size: 200_000 }).money).toBe("0.765");
    expect(priced(text, { ...asked, size: 272_000 }).money).toBe("0.765");
  });

  test("prices reasoning apart from other output if it has a price for it", () => {
    const asked = { endpoint: own, served: "gemini-2.5-pro", output: 1_000_000, reasoning: 400_000 };
    expect(priced(text, asked).money).toBe("10.8");
    expect(priced(text, { ...asked, size: 200_000 }).money).toBe("15");
  });

  test("prices nothing for which it has no price: a class, a size without a price of its own, a tier", () => {
    expect(priced(text, { served: "gpt-5.4", uncached: 10, read: 20 }).lacking).toEqual(["20 read: no-price"]);
    const big = { endpoint: own, served: "gemini-2.5-pro", read: 7, size: 200_000 };
    expect(priced(text, big)).toMatchObject({ money: "0", lacking: ["7 read: no-price"] });
    const quick = { served: "gpt-5.6-sol", tier: "priority", uncached: 10 };
    expect(priced(text, quick)).toMatchObject({ money: "0", lacking: ["10 uncached: no-price"] });
    expect(priced(text, { served: "gpt-5.6-sol", written: { "12h": 5 } }).lacking).toEqual(["5 written 12h: no-price"]);
  });

  test("does not guess which price a request of unknown size has", () => {
    const asked = { endpoint: own, served: "gemini-2.5-pro", output: 9, size: null };
    expect(priced(text, asked)).toMatchObject({ money: "0", lacking: ["9 output: no-price"] });
  });

  test.each(["standard", "default", "auto", "ON_DEMAND"])("has standard prices for the tier %s", (tier) => {
    expect(priced(text, { served: "gpt-5.4", tier, uncached: 1_000_000 }).money).toBe("2.5");
  });
});

describe("LiteLLM's form", () => {
  test("has prices by tier", () => {
    const tokens = { uncached: 1_000_000, read: 1_000_000, output: 1_000_000 };
    expect(priced(litellmFile, { served: "gpt-5.6-sol", tier: "flex", ...tokens }).money).toBe("12.2");
    expect(priced(litellmFile, { served: "gpt-5.6-sol", tier: "batch", uncached: 1_000_000 }).money).toBe("2");
  });

  test("has two prices for writes of Anthropic's, and none for a write whose lifetime is not known", () => {
    const asked = { endpoint: "anthropic https://api.anthropic.com", served: "claude-opus-5-5" };
    expect(priced(litellmFile, { ...asked, written: { "5m": 1_000_000, "1h": 1_000_000 } }).money).toBe("13");
    expect(priced(litellmFile, { ...asked, written: { any: 3 } }).lacking).toEqual(["3 written any: no-price"]);
  });

  test("has the prices of a router under its own name, to the amount that it charged", () => {
    const asked = { endpoint: router, served: "openai/gpt-5.6-sol", output: 5 };
    expect(priced(litellmFile, { ...asked, uncached: 8, written: { any: 4_012 } }).money).toBe("0.025265");
    expect(priced(litellmFile, { ...asked, uncached: 8, read: 4_012 }).money).toBe("0.002196");
  });

  test("does not take a negative price, or a text, for a price", () => {
    expect(priced(litellmFile, { served: "odd", uncached: 1, output: 1 })).toMatchObject({
      money: "0",
      lacking: ["1 uncached: no-price", "1 output: no-price"],
    });
    expect(priced(litellmFile, { served: "image", output: 1 }).lacking).toEqual(["1 output: no-price"]);
  });
});

describe("models.dev's form", () => {
  test("does not guess between providers with different prices", () => {
    const asked = { endpoint: own, served: "gpt-5.6-sol", uncached: 10 };
    expect(priced(modelsDevFile, asked).lacking).toEqual(["10 uncached: ambiguous"]);
    expect(priced(modelsDevFile, asked, { "gpt-5.6-sol": "openai/gpt-5.6-sol" }).lacking).toEqual([]);
    expect(() => readPriceFile(modelsDevFile, { file: "p.json", priceAs: { mine: "gpt-5.6-sol" } })).toThrow(
      "p.json has several entries 'gpt-5.6-sol'; write PROVIDER/MODEL",
    );
  });

  test("has no price for a write for an hour", () => {
    expect(priced(modelsDevFile, { served: "gpt-5.6-sol", written: { "1h": 4 } }).lacking).toEqual([
      "4 written 1h: no-price",
    ]);
  });
});

/** A file that could be either has no prices to rely on. */
const both = `${litellmFile.slice(0, -1)},${modelsDevFile.slice(1)}`;

test.each([
  ["", "not JSON"],
  ["prices", "not JSON"],
  ["[]", "JSON of another form"],
  ["{}", "JSON of another form, with 0 members"],
  [JSON.stringify([{ id: "openai", models: [{ id: "gpt-5", prices: { input_mtok: 1 } }] }]), "JSON of another form"],
  [JSON.stringify({ "gpt-5": { input: 1 } }), "JSON of another form, with 1 member"],
  [both, "JSON of another form, with 13 members"],
])("a file of another form is refused: %j", (text, problem) => {
  expect(() => readPriceFile(text, { file: "p.json" })).toThrow(
    expect.objectContaining({
      code: "prices-unusable",
      message: `p.json is ${problem}; give LiteLLM's model_prices_and_context_window.json, or models.dev's api.json`,
    }),
  );
});
