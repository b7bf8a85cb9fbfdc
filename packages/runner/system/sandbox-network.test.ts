import { once } from "node:events";
import { Agent, createServer, type IncomingMessage, request } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { HostProxy, type NetworkAttempt, parseHostRule } from "../src/sandbox/host-proxy.ts";
import { temporaryFolder } from "../test/agents.ts";
import { startConfined } from "../test/confined.ts";
import { describeConfined } from "../test/with-sandbox.ts";

let port: number;
let seen: { method?: string; url?: string; headers: IncomingMessage["headers"]; body: string }[];

beforeEach(async () => {
  seen = [];
  const server = createServer(async (incoming, response) => {
    const { method = "", url = "", headers } = incoming;
    seen.push({ method, url, headers, body: await text(incoming) });
    response.end("hello from outside");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  port = typeof address === "object" ? (address?.port ?? 0) : 0;
  return () => {
    server.closeAllConnections();
    server.close();
  };
});

async function proxyFor(...hosts: string[]) {
  const socketPath = join(await temporaryFolder(), "proxy.sock");
  const attempts: NetworkAttempt[] = [];
  const proxy = await HostProxy.listen(socketPath, {
    rules: hosts.map(parseHostRule),
    onAttempt: (attempt) => attempts.push(attempt),
    findAddresses: (host, done) => {
      const address = {
        "here.test": "127.0.0.1",
        "mapped.test": "::ffff:127.0.0.1",
        "lan.test": "10.255.255.1",
      }[host];
      if (address) done(null, [{ address, family: address.includes(":") ? 6 : 4 }]);
      else done(new Error(`${host} has no address`), []);
    },
  });
  onTestFinished(() => proxy.close());
  return { socketPath, attempts, proxy };
}

async function get(
  socketPath: string,
  url: string,
  options: { method?: string; headers?: object; body?: string; agent?: Agent } = {},
) {
  const { body = "", headers = {}, method = "GET", agent } = options;
  const asking = request({ socketPath, path: url, method, headers: { ...headers }, ...(agent && { agent }) });
  asking.end(body);
  const [answer]: IncomingMessage[] = await once(asking, "response");
  return { status: answer?.statusCode, body: answer ? await text(answer) : "" };
}

async function tunnel(socketPath: string, authority: string) {
  const asking = request({ socketPath, method: "CONNECT", path: authority });
  asking.end();
  const [answer, socket] = await once(asking, "connect");
  onTestFinished(() => void socket.destroy());
  return { status: answer.statusCode, socket };
}

describe("a proxy", () => {
  it.each(["099", "000"])("outlives a host that answers with %s", async (status) => {
    const odd = createTcpServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () => socket.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`));
    }).listen(0, "127.0.0.1");
    onTestFinished(() => void odd.close());
    await once(odd, "listening");
    const { port: oddPort } = odd.address() as AddressInfo;
    const { socketPath } = await proxyFor("127.0.0.1:*");
    const answer = await get(socketPath, `http://127.0.0.1:${oddPort}/`);
    expect(answer).toEqual({ status: 502, body: `it answered with ${Number(status)}\n` });
    expect(await get(socketPath, `http://127.0.0.1:${port}/`)).toMatchObject({ status: 200 });
  });

  it("forwards a request to a named host without hop-by-hop headers", async () => {
    const { socketPath, attempts } = await proxyFor(`127.0.0.1:${port}`);
    const answer = await get(socketPath, `http://127.0.0.1:${port}/a?b=c`, {
      method: "POST",
      headers: {
        "proxy-authorization": "secret",
        "x-kept": "yes",
        connection: "x-mine",
        "x-mine": "no",
        host: "other.test",
      },
      body: "a body",
    });
    expect(answer).toEqual({ status: 200, body: "hello from outside" });
    expect(seen).toMatchObject([{ method: "POST", url: "/a?b=c", body: "a body" }]);
    expect(seen[0]?.headers).toMatchObject({ "x-kept": "yes", host: `127.0.0.1:${port}` });
    for (const name of ["proxy-authorization", "x-mine"]) expect(seen[0]?.headers).not.toHaveProperty(name);
    expect(attempts).toEqual([{ host: "127.0.0.1", port, allowed: true }]);
  });

  it("sends each request of one connection to its own host", async () => {
    const other = createServer((_, response) => response.end("hello from the other")).listen(0, "127.0.0.1");
    await once(other, "listening");
    onTestFinished(() => void other.close());
    const address = other.address();
    const otherPort = typeof address === "object" ? address?.port : 0;
    const { socketPath } = await proxyFor("127.0.0.1:*");
    const keepAlive = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => keepAlive.destroy());
    for (let round = 0; round < 3; round += 1) {
      const first = await get(socketPath, `http://127.0.0.1:${port}/`, { agent: keepAlive });
      const second = await get(socketPath, `http://127.0.0.1:${otherPort}/`, { agent: keepAlive });
      expect([first.body, second.body]).toEqual(["hello from outside", "hello from the other"]);
    }
  });

  it("opens a tunnel to a host that was named", async () => {
    const { socketPath } = await proxyFor(`127.0.0.1:${port}`);
    const { status, socket } = await tunnel(socketPath, `127.0.0.1:${port}`);
    expect(status).toBe(200);
    socket.end("GET /through HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    expect(await text(socket)).toContain("hello from outside");
    expect(seen).toMatchObject([{ url: "/through" }]);
  });

  it("refuses every other host and port and reports the attempt", async () => {
    const { socketPath, attempts } = await proxyFor("allowed.test", `127.0.0.1:${port + 1}`);
    expect((await get(socketPath, `http://127.0.0.1:${port}/`)).status).toBe(403);
    expect((await get(socketPath, "http://other.test/")).body).toContain(
      "other.test:80 is not among the hosts",
    );
    expect((await tunnel(socketPath, `127.0.0.1:${port}`)).status).toBe(403);
    expect(seen).toEqual([]);
    expect(attempts.map(({ host, allowed }) => [host, allowed])).toEqual([
      ["127.0.0.1", false],
      ["other.test", false],
      ["127.0.0.1", false],
    ]);
  });

  it.each(["*", "*.test", "here.test", "mapped.test"])(
    "does not let %j lead back to this machine",
    async (rule) => {
      const { socketPath, attempts } = await proxyFor(`${rule}:${port}`);
      const host = rule === "mapped.test" ? rule : "here.test";
      expect((await get(socketPath, `http://${host}:${port}/`)).status).toBe(502);
      expect(attempts).toMatchObject([
        { host, allowed: true, reason: expect.stringContaining("leads to this machine") },
      ]);
      expect(seen).toEqual([]);
    },
  );

  it("does not let a pattern lead into a private network", async () => {
    const { socketPath } = await proxyFor("*");
    expect((await get(socketPath, "http://lan.test/")).body).toContain("leads to this machine or network");
    expect((await get(socketPath, "http://10.255.255.1/")).body).toContain("is an address of this machine");
  });

  it.each(["/", "https://allowed.test/", "ftp://allowed.test/", "allowed.test:80"])(
    "answers %j with a refusal",
    async (url) => {
      const { socketPath, attempts } = await proxyFor("allowed.test");
      expect((await get(socketPath, url)).status).toBe(400);
      expect(attempts).toEqual([]);
    },
  );

  it("ends its tunnels when it ends", async () => {
    const { socketPath, proxy } = await proxyFor(`127.0.0.1:${port}`);
    const { socket } = await tunnel(socketPath, `127.0.0.1:${port}`);
    const closed = once(socket.resume(), "close");
    await proxy.close();
    await closed;
  });

  it("survives a client that speaks something else", async () => {
    const { socketPath } = await proxyFor(`127.0.0.1:${port}`);
    const nonsense = connect(socketPath).resume();
    const closed = new Promise((resolve) => nonsense.on("error", resolve).on("close", resolve));
    nonsense.end(`\0\x05\x01\x00${"x".repeat(100_000)}`);
    await closed;
    expect((await get(socketPath, `http://127.0.0.1:${port}/`)).status).toBe(200);
  });
});

describeConfined("an agent confined to some hosts", () => {
  it("reaches those by the usual settings for proxies, and no others", async () => {
    const attempts: NetworkAttempt[] = [];
    const script = `
      const say = (what) => console.log(JSON.stringify(what));
      const status = (url) => fetch(url).then((answer) => answer.text(), (error) => "failed");
      (async () => {
        say({ named: await status("http://127.0.0.1:${port}/inside") });
        say({ other: await status("http://other.test/") });
        const server = require("http").createServer((_, answer) => answer.end("its own")).listen(0, "localhost", async () => {
          say({ own: await status("http://localhost:" + server.address().port) });
          process.exit(5);
        });
      })();`;
    const { agent, messages } = await startConfined(
      [process.execPath, "--eval", script],
      { network: { hosts: [`127.0.0.1:${port}`] } },
      { onNetwork: (attempt) => attempts.push(attempt) },
    );
    expect(await agent.exited).toMatchObject({ code: 5 });
    expect(messages).toEqual([{ named: "hello from outside" }, { other: "failed" }, { own: "its own" }]);
    expect(attempts.map(({ host, allowed }) => [host, allowed])).toEqual([
      ["127.0.0.1", true],
      ["other.test", false],
    ]);
  });

  it("is not started with an invalid host", async () => {
    await expect(startConfined(["/bin/true"], { network: { hosts: ["http://a/"] } })).rejects.toMatchObject({
      code: "invalid_host",
    });
  });
});
