import { expect, test } from "vitest";
import { readPriceFile } from "../../../../src/analysis/costs/prices/price-file.ts";
import { priceOfCell } from "../../../../src/analysis/costs/prices/price-of-cell.ts";
import { nothingBilled } from "../../../../src/analysis/costs/rows/bill-cells.ts";
import { partsOf, unansweredPart } from "../../../../src/analysis/costs/rows/billed-parts.ts";
import { dollarText } from "../../../../src/base/dollars.ts";
import { objectOf } from "../../../../src/base/json.ts";
import { responsesCodec } from "../../../../src/providers/responses/responses-codec.ts";
import { litellmFile } from "../../../support/bill/price-files.ts";
import { hasRecordings, needsRecordings, recordedExchanges } from "../../../support/providers/recorded-cases.ts";

test.skipIf(!hasRecordings)(
  `the list prices of recorded answers of OpenRouter are what it charged, to the last digit${needsRecordings}`,
  () => {
    const prices = readPriceFile(litellmFile, { file: "p.json" });
    const charged = recordedExchanges()
      .map(({ response }) => ({ response, usage: objectOf(response["usage"]) }))
      .filter(({ usage }) => usage["cost"] !== undefined);
    const priced = charged.map(({ response, usage }) => {
      const counts = responsesCodec.countsIn(usage, response);
      const [{ tokens, ...key } = unansweredPart, ...others] = partsOf(counts) ?? [];
      expect(others).toEqual([]);
      const endpoint = "openai-responses https://openrouter.ai/api/v1";
      const asked = { day: "2026-09-01", endpoint, declared: "openai/gpt-5.6-sol", isPaid: true, run: null };
      const { amount, unpriced } = priceOfCell({ ...asked, ...key, ...nothingBilled, ...tokens }, prices);
      return { money: dollarText(amount), unpriced };
    });
    expect(priced).toEqual([
      { money: "0.025265", unpriced: [] },
      { money: "0.002196", unpriced: [] },
    ]);
    expect(priced.map(({ money }) => Number(money))).toEqual(charged.map(({ usage }) => usage["cost"]));
  },
);
