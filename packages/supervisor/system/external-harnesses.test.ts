import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { join } from "node:path";
import { type AhpEvent, AhpServer, mountHttp, serveHttp } from "@reins/ahp";
import type { ExternalHarness } from "@reins/policy";
import { expect, onTestFinished, test } from "vitest";
import { Harnesses } from "../src/decision/harnesses.ts";
import { eventually } from "./fixtures/eventually.ts";
import { newHome, toolEvent } from "./fixtures/supervised.ts";

function newHarnesses(): Harnesses {
  const harnesses = new Harnesses();
  onTestFinished(() => harnesses.close());
  return harnesses;
}

/** A harness that blocks with a reason by which it is known. */
async function blocking(reason: string): Promise<string> {
  const served = await serveHttp(new AhpServer({ event: async () => ({ decision: "block", reason }) }));
  onTestFinished(() => served.close());
  return served.address;
}

/** A harness over WebSocket that greets and answers nothing, with the connections that it holds. */
async function silent() {
  const mount = mountHttp(new AhpServer({ event: () => new Promise(() => {}) }), {
    allowedHosts: ["127.0.0.1"],
  });
  const open = new Set<Socket>();
  let connections = 0;
  const server = createServer();
  server.on("upgrade", (request, socket: Socket, head) => {
    connections += 1;
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    void mount.upgrade(request, socket, head);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    for (const socket of open) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { url: `ws://127.0.0.1:${port}/ahp`, open, connections: () => connections };
}

const named = (name: string, url: string, timeout = "5s"): ExternalHarness => ({
  name,
  url,
  timeout,
  fail: "closed",
});

test("a harness gets the whole event as its agent sent it, and the credential from its file", async () => {
  const seen: AhpEvent[] = [];
  const told: AhpEvent[] = [];
  const token = join(await newHome(), "token");
  const server = new AhpServer(
    {
      event: async (event) => {
        seen.push(event);
        return { decision: "allow" };
      },
      notification: async (event) => void told.push(event),
    },
    { info: { name: "other", version: "1", capabilities: ["pre_action", "pre_prompt", "session_start"] } },
  );
  const served = await serveHttp(server, {
    authenticate: async (credential) => (credential?.value === "s3cret" ? "reins" : undefined),
  });
  onTestFinished(() => served.close());
  await writeFile(token, `${new URL(served.address).origin} s3cret\n`);
  const harnesses = newHarnesses();
  const company = { ...named("company", served.address), token_file: token };
  const envelope = { session_id: "s-7", agent_id: "reed", depth: 2, timestamp: "2026-01-02T03:04:05Z" };
  const context = { current_task: "tidy" };
  const metadata = { trace: "abc", session_token: "of a child" };
  for (const event_type of ["pre_action", "pre_prompt", "session_start"]) {
    const event = {
      ...envelope,
      event_type,
      context,
      metadata,
      payload: { tool_name: "ls", type: event_type },
    };
    const [answer] = await harnesses.ask([company], event);
    expect(answer).toMatchObject({ verdict: "allowed" });
  }
  const expected = (event_type: string) => ({
    ...{ ...envelope, event_type, context, metadata: { trace: "abc" } },
    payload: { tool_name: "ls", type: event_type },
  });
  expect(seen).toMatchObject([expected("pre_action"), expected("pre_prompt")]);
  await expect.poll(() => told).toMatchObject([expected("session_start")]);
  expect(JSON.stringify([seen, told])).not.toContain("of a child");
  const [refused] = await harnesses.ask([named("company", served.address)], toolEvent("ls"));
  expect(refused).toMatchObject({ verdict: "blocked", reason: expect.stringContaining("401") });
  const elsewhere = { ...named("company", await blocking("elsewhere")), token_file: token };
  const [kept] = await harnesses.ask([elsewhere], toolEvent("ls"));
  expect(kept?.reason).toContain("the credential file holds no");
});

test("two constitutions may call different harnesses by one name, and each is asked its own", async () => {
  const harnesses = newHarnesses();
  const [acme, globex] = [await blocking("acme"), await blocking("globex")];
  const [first] = await harnesses.ask([named("company", acme)], toolEvent("ls"));
  const [second] = await harnesses.ask([named("company", globex)], toolEvent("ls"));
  expect(first?.reason).toBe('the harness "company" blocks it: acme');
  expect(second?.reason).toBe('the harness "company" blocks it: globex');
});

test("a harness that fails again and again holds no connection", async () => {
  const harnesses = newHarnesses();
  const { url, open, connections } = await silent();
  for (let time = 0; time < 3; time += 1) {
    const [answer] = await harnesses.ask([named("mute", url, "100ms")], toolEvent("ls"));
    expect(answer).toMatchObject({ verdict: "blocked" });
  }
  expect(connections()).toBe(3);
  await eventually(() => expect(open.size).toBe(0));
});
