import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { StartedTestContainer } from "testcontainers";
import { afterAll, beforeAll, describe } from "vitest";
import { parse } from "yaml";
import * as z from "zod";
import { engineProblem, skipContainers, startContainer } from "../../support/stores/container.ts";
import {
  describeEventStore,
  describeLiveness,
  describeSnapshots,
  describeViews,
} from "../../support/stores/contract.ts";
import { newStore, opened, openedAgain } from "../../support/stores/postgres-opened.ts";

function describeServer(name: string, url: () => string): void {
  const create = async () => opened(await newStore(url()));
  describeEventStore(name, create);
  describeSnapshots(name, create);
  describeViews(name, create);
  describeLiveness(name, create, openedAgain);
}

const running = process.env["TURNLOG_TEST_POSTGRES"];
if (running !== undefined) describeServer("the server of TURNLOG_TEST_POSTGRES", () => running);

/** The server of `docker-compose.yml`, as that starts it. */
const serviceSchema = z.object({
  image: z.string(),
  environment: z.object({ POSTGRES_USER: z.string(), POSTGRES_PASSWORD: z.string(), POSTGRES_DB: z.string() }),
  healthcheck: z.object({ test: z.tuple([z.literal("CMD")], z.string()) }),
});
const composeSchema = z.object({ services: z.object({ postgres: serviceSchema }) });
const text = readFileSync(join(import.meta.dirname, "../../../docker-compose.yml"), "utf8");
const { image, environment, healthcheck } = composeSchema.parse(parse(text, { merge: true })).services.postgres;

const problem = await engineProblem();
if (problem === null) describe(image, withContainer);
else skipContainers(`the Postgres store on ${image}`, problem);

function withContainer(): void {
  let container: StartedTestContainer | null = null;
  let url = "";
  beforeAll(async () => {
    container = await startContainer({ image, environment, port: 5432, healthCheck: healthcheck.test });
    const { POSTGRES_USER: user, POSTGRES_PASSWORD: password, POSTGRES_DB: database } = environment;
    const host = `${container.getHost()}:${container.getMappedPort(5432)}`;
    url = `postgres://${user}:${password}@${host}/${database}?sslmode=disable`;
  }, 600_000);
  afterAll(async () => {
    await container?.stop();
  });
  describeServer(`the Postgres store on ${image}`, () => url);
}
