import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import * as z from "zod";

const serviceSchema = z.object({
  image: z.string(),
  profiles: z.array(z.string()).default([]),
  environment: z.record(z.string(), z.string()).default({}),
  ports: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
  healthcheck: z.object({ test: z.array(z.string()), interval: z.string(), retries: z.number() }).optional(),
  networks: z.record(z.string(), z.object({ ipv4_address: z.string() })).default({}),
  depends_on: z.record(z.string(), z.object({ condition: z.string() })).default({}),
  command: z.array(z.string()).default([]),
});
const composeSchema = z.object({
  services: z.record(z.string(), serviceSchema),
  volumes: z.record(z.string(), z.null()),
  networks: z.record(z.string(), z.object({ ipam: z.object({ config: z.array(z.object({ subnet: z.string() })) }) })),
});

const file = join(import.meta.dirname, "..", "..", "docker-compose.yml");
// A name that is given twice is an error of the parser; values of the environment have to be text.
const compose = composeSchema.parse(parse(readFileSync(file, "utf8"), { merge: true, uniqueKeys: true }));
const services = Object.entries(compose.services).map(([name, service]) => ({ name, ...service }));
/** The two products: what their settings begin with, and where they keep things. */
const products = [
  { prefix: "EVENTSTORE", image: "eventstore/eventstore:", folder: "eventstore", cluster: "cluster" },
  {
    prefix: "KURRENTDB",
    image: "docker.kurrent.io/kurrent-lts/kurrentdb:",
    folder: "kurrentdb",
    cluster: "kurrentdb-cluster",
  },
];
const servers = products.flatMap((product) =>
  services.filter(({ image }) => image.startsWith(product.image)).map((server) => ({ ...server, product })),
);
const nodes = servers.filter(({ profiles, product }) => profiles.includes(product.cluster));
const nodesOf = (cluster: string): typeof nodes => nodes.filter(({ product }) => product.cluster === cluster);

test("starts one server without a profile, one of KurrentDB, and three of either in a cluster", () => {
  expect(services.filter(({ profiles }) => profiles.length === 0).map(({ name }) => name)).toEqual(["eventstoredb"]);
  expect(services.filter(({ profiles }) => profiles.includes("kurrentdb")).map(({ name }) => name)).toEqual([
    "kurrentdb",
  ]);
  expect(nodesOf("cluster").map(({ name }) => name)).toEqual(["node1", "node2", "node3"]);
  expect(nodesOf("kurrentdb-cluster").map(({ name }) => name)).toEqual(["kurrentdb1", "kurrentdb2", "kurrentdb3"]);
});

test("pins every image to a version", () => {
  for (const { image } of services) expect(image).toMatch(/^[a-z/.-]+:\d+(\.\d+)+(-[a-z-]+)?$/);
});

test("asks every server whether it is healthy", () => {
  for (const { healthcheck, environment, product } of servers) {
    const scheme = environment[`${product.prefix}_INSECURE`] === "true" ? "http" : "https";
    expect(healthcheck?.test[0]).toBe("CMD");
    expect(healthcheck?.test.at(-1)).toBe(`${scheme}://localhost:2113/health/live`);
  }
});

test("keeps data and logs of every server in volumes of its own", () => {
  const used = services.flatMap(({ volumes }) => volumes.filter((volume) => !volume.startsWith("./")));
  expect(used.map((volume) => volume.split(":")[0]).toSorted()).toEqual(Object.keys(compose.volumes).toSorted());
  for (const { volumes, product } of servers) {
    const places = volumes.map((volume) => volume.split(":")[1]);
    expect(places).toEqual(expect.arrayContaining([`/var/lib/${product.folder}`, `/var/log/${product.folder}`]));
  }
});

test("is reachable from this machine only, each server at a port of its own", () => {
  const ports = servers.flatMap((server) => server.ports);
  for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:\d+:2113$/);
  expect(new Set(ports).size).toBe(servers.length);
});

test("starts PostgreSQL with a password and a volume, reachable from this machine only, when asked for", () => {
  const { image, profiles, ports, volumes, environment, healthcheck } = compose.services["postgres"] ?? {};
  expect(image).toMatch(/^postgres:1[3-9]\./);
  expect({ profiles, ports }).toEqual({ profiles: ["postgres"], ports: ["127.0.0.1:5432:5432"] });
  expect(volumes).toEqual(["postgres-data:/var/lib/postgresql/data"]);
  expect(healthcheck?.test.slice(0, 2)).toEqual(["CMD", "pg_isready"]);
  const { POSTGRES_USER: user, POSTGRES_PASSWORD: password, POSTGRES_DB: database } = environment ?? {};
  expect(readFileSync(file, "utf8")).toContain(`postgres://${user}:${password}@localhost:5432/${database}\n`);
});

test("sets nothing that the servers do not know, by the name that each has for it", () => {
  for (const { environment, product } of servers) {
    const settings = known.map((setting) => `${product.prefix}_${setting}`);
    for (const name of Object.keys(environment)) expect(settings).toContain(name);
  }
});

test.each(products)(
  "tells each node of the $cluster who it is, and who the others are",
  ({ cluster, prefix, folder }) => {
    const members = nodesOf(cluster);
    const addresses = members.map(({ networks }) => networks["cluster"]?.ipv4_address);
    const [subnet] = compose.networks["cluster"]?.ipam.config ?? [];
    expect(new Set(addresses).size).toBe(3);
    for (const { name, environment, networks, ports, volumes } of members) {
      const own = networks["cluster"]?.ipv4_address;
      const others = addresses.filter((address) => address !== own);
      expect(own?.startsWith(subnet?.subnet.replace(/0\/24$/, "") ?? "?")).toBe(true);
      expect(environment[`${prefix}_CLUSTER_SIZE`]).toBe("3");
      expect(environment[`${prefix}_INSECURE`]).toBeUndefined();
      expect(environment[`${prefix}_REPLICATION_IP`]).toBe(own);
      expect(environment[`${prefix}_GOSSIP_SEED`]).toBe(others.map((address) => `${address ?? ""}:2113`).join(","));
      // Clients are sent to the address that they can reach.
      expect(ports).toEqual([`127.0.0.1:${environment[`${prefix}_ADVERTISE_NODE_PORT_TO_CLIENT_AS`] ?? ""}:2113`]);
      expect(environment[`${prefix}_CERTIFICATE_FILE`]).toBe(`/etc/${folder}/certs/${name}/node.crt`);
      expect(volumes).toContain(`./certs:/etc/${folder}/certs:ro`);
      expect(environment[`${prefix}_CERTIFICATE_PRIVATE_KEY_FILE`]).toBe(`/etc/${folder}/certs/${name}/node.key`);
    }
  },
);

test("makes certificates for the addresses of the nodes before they start", () => {
  const script = compose.services["certificates"]?.command.join(" ") ?? "";
  for (const { name, depends_on, networks, environment, product } of nodes) {
    expect(depends_on["certificates"]?.condition).toBe("service_completed_successfully");
    const [number = ""] = name.slice(-1);
    const ofAny = networks["cluster"]?.ipv4_address.replace(new RegExp(`${number}$`), "$$$$node") ?? "none";
    const folder = name.replace(number, "$$$$node");
    expect(script).toContain(
      `-out /certs/${folder} -ip-addresses 127.0.0.1,${ofAny} -dns-names ${environment[`${product.prefix}_ADVERTISE_HOST_TO_CLIENT_AS`] ?? ""}`,
    );
  }
});

// https://docs.kurrent.io/server/v24.10/configuration/, each after the name of the product.
const known = [
  "ADVERTISE_HOST_TO_CLIENT_AS",
  "ADVERTISE_NODE_PORT_TO_CLIENT_AS",
  "CERTIFICATE_FILE",
  "CERTIFICATE_PRIVATE_KEY_FILE",
  "CLUSTER_SIZE",
  "DISCOVER_VIA_DNS",
  "ENABLE_ATOM_PUB_OVER_HTTP",
  "GOSSIP_SEED",
  "INSECURE",
  "REPLICATION_IP",
  "RUN_PROJECTIONS",
  "START_STANDARD_PROJECTIONS",
  "TELEMETRY_OPTOUT",
  "TRUSTED_ROOT_CERTIFICATES_PATH",
];
