import type { StartedTestContainer } from "testcontainers";
import { expect, test } from "vitest";

/** What a container engine says that does not answer; null where one does. */
export async function engineProblem(): Promise<string | null> {
  // Loaded here only: where no container is asked for, nothing of it is needed.
  const { getContainerRuntimeClient } = await import("testcontainers");
  try {
    await getContainerRuntimeClient();
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Skips what needs containers with one counted line; fails if they are required. */
export function skipContainers(what: string, problem: string): void {
  const reason = problem.replace(/\s+/g, " ");
  test.skipIf(process.env["REQUIRE_CONTAINERS"] !== "1")(`${what}: ${reason}`, () => {
    expect.fail(`REQUIRE_CONTAINERS=1, and no container engine answers: ${reason}`);
  });
}

export type ContainerOptions = {
  readonly image: string;
  readonly environment: Readonly<Record<string, string>>;
  /** The port inside, which becomes a free one outside. */
  readonly port: number;
  /** Replaces the image's own health check, or adds one. */
  readonly healthCheck?: readonly ["CMD", ...string[]];
};

/** Starts a container and waits until its health check passes; `stop` removes it with its data. */
export async function startContainer(options: ContainerOptions): Promise<StartedTestContainer> {
  const { image, environment, port, healthCheck } = options;
  const { GenericContainer, Wait } = await import("testcontainers");
  const container = new GenericContainer(image)
    .withEnvironment({ ...environment })
    .withExposedPorts(port)
    .withWaitStrategy(Wait.forHealthCheck())
    .withStartupTimeout(startupTimeoutMs);
  // In milliseconds.
  const pace = { interval: 1_000, timeout: 5_000, retries: 60 };
  return (
    healthCheck === undefined ? container : container.withHealthCheck({ test: [...healthCheck], ...pace })
  ).start();
}

/** An image may have to be fetched first. */
const startupTimeoutMs = 300_000;
