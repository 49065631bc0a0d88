import { userInfo } from "node:os";
import type { ApprovalHandler } from "../../../engine/options/approvals.ts";
import { type Engine, engineOf } from "../../../engine/options/engine.ts";
import { UsageError } from "../exit-codes.ts";
import type { Settings } from "../settings.ts";
import { defaultEngine, loadEngine } from "../stack-file.ts";

/**
 * The engine that `--stack` names, else the one of the configuration.
 *
 * @param otherwise - What to do where there is no configuration.
 * @throws {UsageError} if neither says which.
 */
export async function engineToAsk(settings: Settings, stack: string | undefined, otherwise = noModel): Promise<Engine> {
  if (stack !== undefined) return loadEngine(stack, settings);
  const configuration = await settings.whole();
  const name = defaultEngine(configuration);
  if (name !== null) return loadEngine(name, settings);
  const { engines = {}, providers = {} } = configuration?.config ?? {};
  const names = [...Object.keys(engines), ...Object.keys(providers)];
  throw new UsageError(
    names.length > 0
      ? `which of ${names.join(", ")}? Name one with --stack, or as "engine" in ${configuration?.files.at(-1)}`
      : otherwise,
  );
}

const noModel = `there is no model to ask: write turnlog.config.json with {"providers":{"main":{"wire":"responses","model":"gpt-5.4"}}}, or name a module with --stack FILE`;

/** The engine with a person to ask, unless it has its own way. */
export const withApprovals = ({ options }: Engine, onApproval: ApprovalHandler): Engine =>
  engineOf({ ...options, onApproval: options.onApproval ?? onApproval });

/** Who is at the terminal: the given name, or the user's of this system. */
export function personHere(name: string | undefined): { readonly kind: "operator"; readonly name: string } {
  return { kind: "operator", name: name ?? userName() };
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // Containers run as users without a name.
    return `uid ${process.getuid?.() ?? "unknown"}`;
  }
}
