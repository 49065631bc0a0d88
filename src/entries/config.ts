/** The configuration of the command line: what `turnlog.config.ts` exports. */
export {
  defineConfig,
  type EngineEntry,
  type EngineSettings,
  type OptionsByWire,
  type ProviderEntry,
  type ProviderSettings,
  type TurnlogConfig,
  type Variable,
  type Wire,
  type WithVariables,
} from "../apps/config/config.ts";
