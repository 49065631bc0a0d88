import { shownAddress } from "../../../base/shown-address.ts";
import { entryProblems } from "../../config/check-entries.ts";
import { shownValues } from "../../config/shown-values.ts";
import { configDocument } from "../../documents/configuration.ts";
import { commandCode } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { defaultEngine } from "../stack-file.ts";

/** What the commands work with here, and what decided each value. Makes the providers, so that mistakes in their options show. */
export const config = commandCode({
  document: configDocument,

  async *run({ settings }) {
    const configuration = await settings.whole();
    const { url, ...store } = settings.store();
    const inFile = (key: string) => ({ from: "file" as const, name: configuration?.fileOf(key) ?? null });
    const { prices } = settings.prices({});
    const engine = defaultEngine(configuration);
    const none = { from: "default" as const, name: null };
    const isSaid = (key: "engine" | "prices"): boolean => configuration?.config[key] !== undefined;
    const problems = configuration === null ? [] : await entryProblems(configuration, settings.variables);
    yield {
      files: [...(configuration?.files ?? [])],
      values: [
        { key: "store", value: shownAddress(url), ...store },
        { key: "engine", value: engine ?? "none", ...(isSaid("engine") ? inFile("engine") : none) },
        { key: "prices", value: prices ?? "none", ...(isSaid("prices") ? inFile("prices") : none) },
        ...(configuration === null
          ? []
          : shownValues(configuration, settings.variables).map(({ key, value }) => ({
              ...{ key, value },
              ...inFile(key.split(".", 2).join(".")),
            }))),
      ],
      problems: [...problems],
    };
    return problems.length === 0 ? exitCodes.ok : exitCodes.failure;
  },

  render({ files, values, problems }, { style, table, print, note }) {
    if (files.length === 0)
      note("there is no configuration here: turnlog.config.json or turnlog.config.ts would be one");
    table(
      values.map(({ key, value, from, name }) => [
        { text: key, style: style.bold },
        { text: name ?? from, style: style.dim },
        value,
      ]),
    );
    for (const problem of problems) print(style.bad(problem));
  },
});
