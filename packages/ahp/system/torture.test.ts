import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { AhpServer, type HttpOptions, serveHttp } from "../src/index.ts";
import fuzz from "../torture/fuzz.torture.ts";
import hostile from "../torture/hostile.torture.ts";
import reconnect from "../torture/reconnect.torture.ts";
import soak from "../torture/soak.torture.ts";

const SEED = 20_260_204;
/** For a machine that is busy with other things. */
const TIMEOUT_MS = 180_000;

/** A torture run says how far it got; what breaks it is thrown, with the seed. */
async function suffer({ run }: typeof fuzz, signal: AbortSignal): Promise<string[]> {
  const said: string[] = [];
  await run({ seed: SEED, scale: "small", signal, log: (message) => said.push(message) });
  return said;
}

describe("a short torture run of", { timeout: TIMEOUT_MS }, () => {
  test("fuzzing: every message over every transport gets the expected answer", async ({ signal }) => {
    expect(await suffer(fuzz, signal)).toEqual([
      expect.stringMatching(/^6\d{3} messages; /),
      expect.stringMatching(/^right answers to well-behaved clients: [1-9]\d*, [1-9]\d*, [1-9]\d*$/),
    ]);
  });

  test("hostile peers: each kind is survived without effect on other clients", async ({ signal }) => {
    const said = await suffer(hostile, signal);
    expect(said.filter((line) => /: at most \d+ MB more lived in the server$/.test(line)).length).toBe(
      said.length - 1,
    );
    expect(said.at(-1)).toMatch(/^right answers to well-behaved clients: [1-9]\d*, [1-9]\d*, [1-9]\d*$/);
  });

  test("soaking: connections and pending events are held, answered and released", async ({ signal }) => {
    expect(await suffer(soak, signal)).toEqual([
      expect.stringMatching(/^50 clients, /),
      expect.stringMatching(/^20 events waited for 1 s beside \d+ quick ones$/),
      expect.stringMatching(/^afterwards (\d+) descriptors \(\1 before\), /),
    ]);
  });

  test("reconnecting: every call settles, and only a harness allows", async ({ signal }) => {
    const said = await suffer(reconnect, signal);
    const settled = /^(unix|websocket|stdio): 3 kills; \d+ calls, [1-9]\d* allowed by a harness, \d+ blocked/;
    expect(said).toEqual(Array.from({ length: 3 }, () => expect.stringMatching(settled)));
  });
});

describe("a server under hostile peers", () => {
  const UPGRADE =
    "GET /elsewhere HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n";

  async function serve(options: HttpOptions = {}) {
    const served = await serveHttp(new AhpServer({ event: () => ({ decision: "allow" }) }), options);
    onTestFinished(() => served.close());
    const port = Number(new URL(served.address).port);
    return {
      served,
      dial: () => connect({ port, host: "127.0.0.1", allowHalfOpen: true }).on("error", () => {}),
    };
  }

  test("survives a peer that requests an upgrade of another path and disconnects", async () => {
    const { served, dial } = await serve();
    for (let peers = 0; peers < 100; peers += 1) {
      const socket = dial();
      await once(socket, "connect");
      socket.write(UPGRADE);
      socket.resetAndDestroy();
    }
    expect((await fetch(served.address)).status).toBe(405);
  });

  test.each([
    ["speaks no HTTP", "nonsense\r\n\r\n", "400"],
    ["requests an upgrade of another path", UPGRADE, "404"],
    ["may not connect", UPGRADE.replace("elsewhere", "ahp").replace("localhost", "evil.example"), "403"],
  ])("disconnects a peer that %s and does not close its connection", async (_, text, status) => {
    const { served, dial } = await serve();
    const socket = dial();
    socket.write(text);
    const [reply] = await once(socket, "data");
    expect(String(reply)).toContain(`HTTP/1.1 ${status} `);
    // Does not wait for a peer that never ends its side.
    await served.close();
    socket.destroy();
  });

  test("survives an authenticator that throws, and rejects every peer", async () => {
    const { served } = await serve({ authenticate: () => Promise.reject(new Error("no database")) });
    const webSocket = new WebSocket(served.address.replace("http", "ws"));
    const [error] = await once(webSocket, "error");
    expect(String(error)).toContain("503");
    await expect(fetch(served.address, { method: "POST" })).rejects.toThrow();
    expect((await fetch(served.address)).status).toBe(405);
  });
});
