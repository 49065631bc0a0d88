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
const servers = services.filter(({ image }) => image.startsWith("eventstore/eventstore:"));
const nodes = servers.filter(({ profiles }) => profiles.includes("cluster"));

test("starts one server without a profile, and three of them in the cluster", () => {
  expect(services.filter(({ profiles }) => profiles.length === 0).map(({ name }) => name)).toEqual(["eventstoredb"]);
  expect(nodes.map(({ name }) => name)).toEqual(["node1", "node2", "node3"]);
});

test("pins every image to a version", () => {
  for (const { image } of services) expect(image).toMatch(/^[a-z/.-]+:\d+\.\d+\.\d+(-[a-z-]+)?$/);
});

test("asks every server whether it is healthy", () => {
  for (const { healthcheck, environment } of servers) {
    const scheme = environment["EVENTSTORE_INSECURE"] === "true" ? "http" : "https";
    expect(healthcheck?.test[0]).toBe("CMD");
    expect(healthcheck?.test.at(-1)).toBe(`${scheme}://localhost:2113/health/live`);
  }
});

test("keeps data and logs of every server in volumes of its own", () => {
  const used = servers.flatMap(({ volumes }) => volumes.filter((volume) => !volume.startsWith("./")));
  expect(used.map((volume) => volume.split(":")[0]).toSorted()).toEqual(Object.keys(compose.volumes).toSorted());
  for (const { volumes } of servers) {
    const places = volumes.map((volume) => volume.split(":")[1]);
    expect(places).toEqual(expect.arrayContaining(["/var/lib/eventstore", "/var/log/eventstore"]));
  }
});

test("is reachable from this machine only, each server at a port of its own", () => {
  const ports = servers.flatMap((server) => server.ports);
  for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:\d+:2113$/);
  expect(new Set(ports).size).toBe(servers.length);
});

test("sets nothing that 24.10 does not know", () => {
  for (const { environment } of servers) for (const name of Object.keys(environment)) expect(known).toContain(name);
});

test("tells each node of the cluster who it is, and who the others are", () => {
  const addresses = nodes.map(({ networks }) => networks["cluster"]?.ipv4_address);
  const [subnet] = compose.networks["cluster"]?.ipam.config ?? [];
  expect(new Set(addresses).size).toBe(3);
  for (const { name, environment, networks, ports } of nodes) {
    const own = networks["cluster"]?.ipv4_address;
    const others = addresses.filter((address) => address !== own);
    expect(own?.startsWith(subnet?.subnet.replace(/0\/24$/, "") ?? "?")).toBe(true);
    expect(environment["EVENTSTORE_CLUSTER_SIZE"]).toBe("3");
    expect(environment["EVENTSTORE_INSECURE"]).toBeUndefined();
    expect(environment["EVENTSTORE_REPLICATION_IP"]).toBe(own);
    expect(environment["EVENTSTORE_GOSSIP_SEED"]).toBe(others.map((address) => `${address ?? ""}:2113`).join(","));
    // Clients are sent to the address that they can reach.
    expect(ports).toEqual([`127.0.0.1:${environment["EVENTSTORE_ADVERTISE_NODE_PORT_TO_CLIENT_AS"] ?? ""}:2113`]);
    expect(environment["EVENTSTORE_CERTIFICATE_FILE"]).toBe(`/etc/eventstore/certs/${name}/node.crt`);
    expect(environment["EVENTSTORE_CERTIFICATE_PRIVATE_KEY_FILE"]).toBe(`/etc/eventstore/certs/${name}/node.key`);
  }
});

test("makes certificates for the addresses of the nodes before they start", () => {
  const script = compose.services["certificates"]?.command.join(" ") ?? "";
  expect(script).toContain("172.30.240.1$$node");
  for (const { name, depends_on, networks, environment } of nodes) {
    expect(depends_on["certificates"]?.condition).toBe("service_completed_successfully");
    expect(networks["cluster"]?.ipv4_address).toBe(`172.30.240.1${name.slice("node".length)}`);
    expect(script).toContain(`-dns-names ${environment["EVENTSTORE_ADVERTISE_HOST_TO_CLIENT_AS"] ?? ""}`);
  }
});

// https://docs.kurrent.io/server/v24.10/configuration/
const known = [
  "EVENTSTORE_ADVERTISE_HOST_TO_CLIENT_AS",
  "EVENTSTORE_ADVERTISE_NODE_PORT_TO_CLIENT_AS",
  "EVENTSTORE_CERTIFICATE_FILE",
  "EVENTSTORE_CERTIFICATE_PRIVATE_KEY_FILE",
  "EVENTSTORE_CLUSTER_SIZE",
  "EVENTSTORE_DISCOVER_VIA_DNS",
  "EVENTSTORE_ENABLE_ATOM_PUB_OVER_HTTP",
  "EVENTSTORE_GOSSIP_SEED",
  "EVENTSTORE_INSECURE",
  "EVENTSTORE_REPLICATION_IP",
  "EVENTSTORE_RUN_PROJECTIONS",
  "EVENTSTORE_START_STANDARD_PROJECTIONS",
  "EVENTSTORE_TELEMETRY_OPTOUT",
  "EVENTSTORE_TRUSTED_ROOT_CERTIFICATES_PATH",
];
