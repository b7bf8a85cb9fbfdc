import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { harnessForAll, Served } from "./fixtures/home.ts";

const harness = harnessForAll();

/** A connection on which a test says exactly what it wants. */
async function line(address: string): Promise<{ socket: Socket; heard: () => string }> {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  let text = "";
  socket.on("data", (data) => {
    text += data.toString();
  });
  socket.on("error", () => undefined);
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  return { socket, heard: () => text };
}

const statusIn = (heard: string) => Number(/^HTTP\/1\.1 (\d+)/.exec(heard)?.[1] ?? 0);

/** The begin of a login whose body does not come whole. */
const unfinished = (host: string, length: number) =>
  `POST /v1/login HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n{"code":"`;

describe("unauthenticated callers", () => {
  test("may send only small bodies: a large one is rejected without buffering", async () => {
    const served = await Served.open(harness());
    for (const size of [5_000, 100_000, 1_000_000]) {
      const body = JSON.stringify({ code: "x".repeat(size) });
      expect((await served.ask("POST", "/v1/login", { body })).status).toBe(413);
    }
    const { body } = await served.ask("POST", "/v1/login/codes");
    const login = await served.ask("POST", "/v1/login", { body: { code: Object(body).code } });
    expect(login.status).toBe(200);
  });

  test("have few bodies in flight, each with a timeout", async () => {
    const limits = { anonymousBodiesPerAddress: 4, anonymousBodyMs: 400 };
    const served = await Served.open(harness(), { limits });
    const { host } = new URL(served.address);
    const lines = await Promise.all(Array.from({ length: 10 }, () => line(served.address)));
    for (const { socket } of lines) socket.write(unfinished(host, 1_000));
    const statuses = () => lines.map(({ heard }) => statusIn(heard())).toSorted((one, other) => one - other);
    await expect.poll(() => statuses().filter((status) => status === 429).length).toBe(6);
    // Those who have shown who they are do not notice.
    expect((await served.ask("GET", "/v1/approvals")).status).toBe(200);
    await expect.poll(() => statuses().filter((status) => status === 408).length).toBe(4);
    const { body } = await served.ask("POST", "/v1/login/codes");
    expect((await served.ask("POST", "/v1/login", { body: { code: Object(body).code } })).status).toBe(200);
  });

  test("hold few connections, per address and in total; authenticated ones do not count", async () => {
    const limits = { unknownConnections: 20, unknownConnectionsPerAddress: 8 };
    const served = await Served.open(harness(), { limits });
    const { host } = new URL(served.address);
    const known = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const one = await line(served.address);
        one.socket.write(
          `GET /v1/approvals HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${served.access.token}\r\n\r\n`,
        );
        await expect.poll(() => statusIn(one.heard())).toBe(200);
        return one;
      }),
    );
    const strangers = await Promise.all(Array.from({ length: 20 }, () => line(served.address)));
    await expect.poll(() => strangers.filter(({ socket }) => !socket.destroyed).length).toBe(8);
    expect(known.every(({ socket }) => !socket.destroyed)).toBe(true);
    for (const { socket } of strangers) socket.destroy();
    await expect
      .poll(async () => (await served.ask("GET", "/v1/approvals").catch(() => undefined))?.status)
      .toBe(200);
  });
});

test("one principal's bodies leave room for those of other principals", async () => {
  const served = await Served.open(harness(), { limits: { arrivingBytesPerPrincipal: 100_000 } });
  const { host } = new URL(served.address);
  const { secret } = await served.person();
  const head = (token: string, length: number) =>
    `POST /v1/policy/validate HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`;
  const lines = await Promise.all(Array.from({ length: 4 }, () => line(served.address)));
  for (const { socket } of lines) socket.write(`${head(secret, 60_000)}{`);
  await expect.poll(() => lines.filter(({ heard }) => statusIn(heard()) === 503).length).toBe(3);
  const other = await line(served.address);
  other.socket.write(`${head(served.access.token, 2)}{}`);
  await expect.poll(() => statusIn(other.heard())).toBe(200);
});

describe("a request that names its host", () => {
  test.each([
    ["twice", (host: string) => `GET /v1/health HTTP/1.1\r\nhost: ${host}\r\nHost: evil.example\r\n\r\n`],
    [
      "twice, the same",
      (host: string) => `GET /v1/health HTTP/1.1\r\nhost: ${host}\r\nhost: ${host}\r\n\r\n`,
    ],
    [
      "differently in its address",
      (host: string) => `GET http://evil.example/v1/health HTTP/1.1\r\nhost: ${host}\r\n\r\n`,
    ],
    [
      "with another port in its address",
      (host: string) => `GET http://localhost:1/v1/health HTTP/1.1\r\nhost: ${host}\r\n\r\n`,
    ],
    ["not at all", () => "GET /v1/health HTTP/1.1\r\n\r\n"],
  ])("%s is rejected", async (_, request) => {
    const served = await Served.open(harness());
    const { socket, heard } = await line(served.address);
    socket.write(request(new URL(served.address).host));
    await expect.poll(() => statusIn(heard())).toBe(400);
    expect(heard()).toContain("application/problem+json");
  });
});
