import { execFile, execFileSync } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** The command of a container engine that answers; null where there is none. */
export function findEngine(): string | null {
  for (const engine of ["docker", "podman"]) {
    try {
      execFileSync(engine, ["info"], { stdio: "ignore", timeout: 10_000 });
      return engine;
    } catch {
      // Not installed, or installed without a service that answers.
    }
  }
  return null;
}

export type Container = { readonly port: number; readonly remove: () => Promise<void> };

export type ContainerOptions = {
  readonly engine: string;
  readonly image: string;
  readonly environment: Readonly<Record<string, string>>;
  /** The port inside, which becomes a free one of loopback outside. */
  readonly port: number;
};

/** Starts a container, which is removed with its data by `remove`. */
export async function startContainer(options: ContainerOptions): Promise<Container> {
  const { engine, image, environment, port } = options;
  const settings = Object.entries(environment).flatMap(([name, value]) => ["--env", `${name}=${value}`]);
  const publish = ["--publish", `127.0.0.1::${port}`];
  const { stdout: id } = await run(engine, ["run", "--detach", "--rm", ...publish, ...settings, image]);
  const remove = async (): Promise<void> => {
    await run(engine, ["rm", "--force", "--volumes", id.trim()]);
  };
  try {
    const { stdout } = await run(engine, ["port", id.trim(), String(port)]);
    return { port: Number(stdout.trim().split(":").at(-1)), remove };
  } catch (error) {
    await remove();
    throw error;
  }
}
