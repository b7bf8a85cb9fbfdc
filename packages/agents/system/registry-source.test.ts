import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { download } from "../src/registry/download.ts";
import { RegistrySource, type RegistrySourceOptions } from "../src/registry/registry-source.ts";
import { AgentRegistryServer } from "../test/agent-registry.ts";

let folder: string;
let server: AgentRegistryServer;
let now: Date;

const AGENT = {
  id: "tiny",
  name: "Tiny",
  version: "1.0.0",
  description: "",
  distribution: { npx: { package: "tiny@1.0.0" } },
};

function source(more: Partial<RegistrySourceOptions> = {}): RegistrySource {
  const environment = { REINS_ACP_REGISTRY_URL: server.url };
  return new RegistrySource({ folder, environment, now: () => now, ...more });
}

function hours(count: number): void {
  now = new Date(now.getTime() + count * 3_600_000);
}

beforeEach(async () => {
  now = new Date("2026-01-01T00:00:00Z");
  folder = await mkdtemp(join(tmpdir(), "reins-source-"));
  server = await AgentRegistryServer.listen();
  server.agents = [AGENT];
});
afterEach(async () => {
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

describe("the registry", () => {
  test("is read once an hour, and then confirmed by its tag", async () => {
    const first = await source().read();
    expect(first).toMatchObject({ state: "current", url: server.url, confirmedAt: now, fault: undefined });
    expect([...first.agents.keys()]).toEqual(["tiny"]);
    await source().read();
    expect(server.requests).toHaveLength(1);
    hours(2);
    expect(await source().read()).toMatchObject({ state: "current", confirmedAt: now });
    expect(server.requests).toHaveLength(2);
    await source().read({ refresh: true });
    expect(server.requests).toHaveLength(3);
  });

  test("is asked once, however many want it", async () => {
    const one = source();
    await Promise.all(Array.from({ length: 20 }, () => one.read()));
    expect(server.requests).toHaveLength(1);
  });

  test("is known from its last answer when it cannot be reached, and is not asked again at once", async () => {
    await source().read();
    const before = now;
    hours(5);
    server.files.set("/registry.json", (_, response) => void response.writeHead(500).end());
    const late = source();
    const state = await late.read();
    expect(state).toMatchObject({
      state: "cached",
      confirmedAt: before,
      fault: expect.stringContaining("500"),
    });
    expect(state.agents.size).toBe(1);
    await late.read();
    expect(server.requests).toHaveLength(2);
  });

  test("is not waited for in the background", async () => {
    const { promise: asked, resolve } = Promise.withResolvers<ServerResponse>();
    server.files.set("/registry.json", (_, response) => resolve(response));
    expect(await source().read({ background: true })).toMatchObject({ state: "unavailable" });
    (await asked).writeHead(200).end(JSON.stringify({ agents: [AGENT] }));
    await expect.poll(async () => (await source({ offline: true }).read()).agents.size).toBe(1);
  });

  test("is not asked offline, and not used when it is off", async () => {
    await source().read();
    expect(await source({ offline: true }).read({ refresh: true })).toMatchObject({ state: "cached" });
    expect(server.requests).toHaveLength(1);
    const off = source({ environment: { REINS_ACP_REGISTRY_URL: "off" } });
    expect(await off.read()).toMatchObject({ state: "off", url: undefined });
    const named = { environment: { SANDBOX_AGENT_ACP_REGISTRY_URL: server.url } };
    expect(await source({ ...named, offline: true }).read()).toMatchObject({ state: "cached" });
  });

  test("of another address does not count as this one", async () => {
    await source().read();
    const environment = { REINS_ACP_REGISTRY_URL: `${server.origin}/other.json` };
    expect(await source({ environment }).read()).toMatchObject({ state: "unavailable" });
  });

  test.each([
    ["what is no registry", "<html>"],
    ["what is too large", `{"agents":[],"x":"${"x".repeat(5_000_000)}"}`],
    ["what is nested too deep", `{"agents":${"[".repeat(50_000)}`],
  ])("keeps its last content when it answers %s", async (_, body) => {
    await source().read();
    hours(2);
    server.files.set("/registry.json", Buffer.from(body));
    const state = await source().read();
    expect([state.state, state.agents.size, state.fault === undefined]).toEqual(["cached", 1, false]);
  });

  test("is given up on when it does not answer, or not to the end", async () => {
    for (const start of [false, true]) {
      server.files.set("/registry.json", (_, response) => {
        if (start) response.writeHead(200).write('{"agents":[');
      });
      expect(await source({ timeoutMs: 200 }).read()).toMatchObject({ state: "unavailable" });
    }
  });

  test("is not believed from a cache that was damaged", async () => {
    await source().read();
    const file = join(folder, "registry.json");
    const cached = JSON.parse(await readFile(file, "utf8"));
    await writeFile(file, JSON.stringify({ ...cached, body: "{" }));
    expect(await source({ offline: true }).read()).toMatchObject({ state: "unavailable" });
    await writeFile(file, "garbage");
    expect(await source().read()).toMatchObject({ state: "current" });
  });

  test("has an address of the web", () => {
    for (const url of ["file:///etc/passwd", "javascript:1", "registry", "ftp://x/y"])
      expect(() => source({ environment: { REINS_ACP_REGISTRY_URL: url } })).toThrow("no address of the web");
  });
});

describe("what a registry names", () => {
  const signal = new AbortController().signal;

  test.each([
    "http://127.0.0.1:9/x",
    "https://127.0.0.1:9/x",
    "https://localhost:9/x",
    "https://[::1]:9/x",
    "https://[::ffff:169.254.169.254]/latest/meta-data",
    "http://169.254.169.254/latest/meta-data",
    "https://169.254.169.254/latest/meta-data",
    "https://0x7f000001/x",
    "https://2130706433/x",
    "https://10.0.0.1/x",
    "https://192.168.1.1/x",
    "https://0.0.0.0/x",
    "http://example.com/x",
    "file:///etc/passwd",
    "data:text/plain,x",
  ])("is not fetched from %s, also not by a redirect", async (address) => {
    const refused = { code: "download_failed" };
    await expect(download(address, { trusted: server.url, signal })).rejects.toMatchObject(refused);
    server.files.set("/away", (_, response) => void response.writeHead(302, { location: address }).end());
    const away = download(`${server.origin}/away`, { trusted: server.url, signal });
    await expect(away).rejects.toMatchObject(refused);
  });

  test("is not waited for when its server does not answer, or sends nothing more", async () => {
    server.files.set("/mute", () => undefined);
    server.files.set("/stuck", (_, response) => void response.writeHead(200).write("a"));
    const options = { trusted: server.url, signal, stallMs: 100 };
    const stalled = { code: "download_failed", message: expect.stringContaining("sent nothing for 0.1 s") };
    await expect(download(`${server.origin}/mute`, options)).rejects.toMatchObject(stalled);
    const { body } = await download(`${server.origin}/stuck`, options);
    await expect(body.toArray()).rejects.toMatchObject(stalled);
  });

  test("is fetched from its own origin, by few redirects", async () => {
    server.files.set("/a", (_, response) => void response.writeHead(307, { location: "/b" }).end());
    server.files.set("/b", Buffer.from("here"));
    const { status, body, url } = await download(`${server.origin}/a`, { trusted: server.url, signal });
    expect([status, url, Buffer.concat(await body.toArray()).toString()]).toEqual([
      200,
      `${server.origin}/b`,
      "here",
    ]);
    server.files.set("/loop", (_, response) => void response.writeHead(302, { location: "/loop" }).end());
    await expect(download(`${server.origin}/loop`, { trusted: server.url, signal })).rejects.toThrow(
      "more than 5",
    );
  });
});
