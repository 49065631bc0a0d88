import type { Option } from "commander";
import { colorChoices } from "./context.ts";
import { option } from "./option-values.ts";

/** The options that every command takes. */
export const globalOptions: readonly Option[] = [
  option(
    "--store <url>",
    "where to keep conversations: an address, or a name in the configuration (TURNLOG_STORE, else the configuration's store, else sqlite:./turnlog.db)",
  ),
  option("--config <file>", "the configuration (TURNLOG_CONFIG, else turnlog.config.* here or above)"),
  option("--json", "print one JSON document"),
  option("-q, --quiet", "print data only"),
  option("--color <when>", "when to colour text (auto: on a terminal, unless NO_COLOR or FORCE_COLOR is set)")
    .choices(colorChoices)
    .default("auto"),
  option("--debug", "show the stack of an error"),
];
