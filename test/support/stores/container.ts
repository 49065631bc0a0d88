import type { StartedTestContainer } from "testcontainers";

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

export type ContainerOptions = {
  readonly image: string;
  readonly environment: Readonly<Record<string, string>>;
  /** The port inside, which becomes a free one outside. */
  readonly port: number;
};

/** Starts a container and waits for its own health check; `stop` removes it with its data. */
export async function startContainer({ image, environment, port }: ContainerOptions): Promise<StartedTestContainer> {
  const { GenericContainer, Wait } = await import("testcontainers");
  return new GenericContainer(image)
    .withEnvironment({ ...environment })
    .withExposedPorts(port)
    .withWaitStrategy(Wait.forHealthCheck())
    .withStartupTimeout(startupTimeoutMs)
    .start();
}

/** An image may have to be fetched first. */
const startupTimeoutMs = 300_000;
