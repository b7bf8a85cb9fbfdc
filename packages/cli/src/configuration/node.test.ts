import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { readConfiguration } from "./configuration.ts";
import { clusterNode } from "./node.ts";

const deploy = join(import.meta.dirname, "../../../../deploy");
const SECRET = "a secret that is long enough to be one";
const STORE = "postgres://reins@db.example.com/reins";

const settings = { listen: "127.0.0.1:18790", secret: SECRET, labels: {} };

describe("a node", () => {
  test("is named by reins.yaml, and by the environment before it", () => {
    const named = { ...settings, name: "one", advertise: "one.internal:1", capacity: 5 };
    expect(clusterNode(named, {}, STORE)).toEqual({
      node: { id: "one", labels: {}, capacity: 5 },
      listen: { host: "127.0.0.1", port: 18790 },
      advertise: "one.internal:1",
      secret: SECRET,
    });
    const environment = { REINS_NODE: "two", REINS_NODE_LISTEN: "[::]:9", REINS_NODE_ADVERTISE: "two:9" };
    expect(clusterNode(named, environment, "@store")).toMatchObject({
      node: { id: "two" },
      listen: { host: "::", port: 9 },
      advertise: "two:9",
    });
    expect(clusterNode(undefined, environment, STORE)).toBeUndefined();
  });

  test.each([
    ["without a database that nodes can share", settings, undefined, "database in PostgreSQL"],
    ["with a database in a file", settings, "./reins.db", "database in PostgreSQL"],
    ["with a secret that can be guessed", { ...settings, secret: "short" }, STORE, "needs 32"],
  ])("is refused %s", (_, given, store, why) => {
    expect(() => clusterNode(given, {}, store)).toThrow(why);
  });
});

/** What a file with the configuration of a node is taken for. */
async function nodeOf(text: string): Promise<unknown> {
  const home = await mkdtemp(join(tmpdir(), "node-"));
  onTestFinished(() => rm(home, { recursive: true }));
  await writeFile(join(home, "node-secret"), SECRET);
  await writeFile(join(home, "reins.yaml"), text.replace("@/run/secrets/reins/node-secret", "@node-secret"));
  const { node } = await readConfiguration(home);
  return clusterNode(node, { REINS_NODE: "one" }, "@/run/secrets/reins/store");
}

describe("the files of deploy", () => {
  test("configure a node as reins.yaml can, the same for containers and for Kubernetes", async () => {
    const own = await readFile(join(deploy, "reins.yaml"), "utf8");
    const documents = parseAllDocuments(await readFile(join(deploy, "kubernetes/reins.yaml"), "utf8"));
    const objects = documents.map((document) => document.toJS());
    const map = objects.find(({ kind }) => kind === "ConfigMap");
    expect(parse(map.data["reins.yaml"])).toEqual(parse(own));
    expect(await nodeOf(own)).toMatchObject({
      node: { id: "one" },
      listen: { host: "0.0.0.0", port: 18790 },
    });
  });

  test("drain a node before it is stopped, within the time that it has", async () => {
    const documents = parseAllDocuments(await readFile(join(deploy, "kubernetes/reins.yaml"), "utf8"));
    const { template } = documents
      .map((document) => document.toJS())
      .find(({ kind }) => kind === "StatefulSet").spec;
    const [{ lifecycle }] = template.spec.containers;
    const command: string = lifecycle.preStop.exec.command.at(-1);
    const wait = Number(/node drain "\$REINS_NODE" --wait (\d+)/.exec(command)?.[1]);
    expect(template.spec.terminationGracePeriodSeconds).toBeGreaterThan(wait + 30);
  });

  test("give every service of compose what it names", async () => {
    const { services, volumes } = parse(await readFile(join(deploy, "compose.yaml"), "utf8"), {
      merge: true,
    });
    for (const name of ["one", "two"]) {
      expect(services[name].environment).toMatchObject({
        REINS_NODE: name,
        REINS_NODE_ADVERTISE: `${name}:18790`,
      });
      const mounted: string[] = services[name].volumes;
      const named = mounted
        .map((volume) => volume.split(":")[0] ?? "")
        .filter((from) => !from.startsWith("."));
      expect(Object.keys(volumes)).toEqual(expect.arrayContaining(named));
    }
    const proxy = await readFile(join(deploy, "proxy.conf"), "utf8");
    for (const [, host] of proxy.matchAll(/server (\w+):18789/g)) expect(services).toHaveProperty(host ?? "");
    // A page of another name than the one that it was loaded by would be one of another origin.
    expect(proxy.match(/proxy_set_header Host .*/g)).toEqual(["proxy_set_header Host $http_host;"]);
  });
});
