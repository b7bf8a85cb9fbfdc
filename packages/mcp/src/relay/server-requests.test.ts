import { ManualClock, settled } from "@reins/kit/manual-clock";
import { expect, test } from "vitest";
import { type Fault, Faults } from "../faults.ts";
import type { McpGate } from "../gate.ts";
import { MCP_LIMITS } from "../limits.ts";
import type { Message } from "../message.ts";
import { GovernedMethods } from "./governed-methods.ts";
import { ServerRequests } from "./server-requests.ts";

function open() {
  const decided: string[] = [];
  const refused: string[] = [];
  const asked: Message[] = [];
  const seen: Fault[] = [];
  const gate: McpGate = {
    mayUse: () => true,
    decide: async (call) => {
      decided.push(call.method);
      return { allowed: true, arguments: call.arguments };
    },
    report: async () => undefined,
    refused: (call) => void refused.push(call.method),
  };
  const clock = new ManualClock();
  const limits = { ...MCP_LIMITS, serverRequestsPerMinute: 6 };
  const faults = new Faults("lab", (fault) => seen.push(fault));
  const parts = { ...{ name: "lab", gate, limits, clock, faults }, mayAskForSampling: false };
  const requests: ServerRequests = new ServerRequests(
    {
      push: (message) => {
        asked.push(message);
        setImmediate(() => requests.answer({ jsonrpc: "2.0", id: message.id, result: {} }));
        return true;
      },
    },
    { ...parts, methods: new GovernedMethods(parts) },
  );
  /** Gives how many of some requests were answered with a result. */
  const ask = async (method: string, count: number): Promise<number> => {
    const answers: Message[] = [];
    for (let id = 0; id < count; id += 1) {
      requests.pass({ jsonrpc: "2.0", id, method }, (response) => answers.push(response));
      await settled();
    }
    await expect.poll(() => answers.length).toBe(count);
    return answers.filter(({ result }) => result !== undefined).length;
  };
  return { ask, clock, decided, refused, asked, seen };
}

test("a server that asks the agent without end is decided about, and recorded, at a bounded rate", async () => {
  const { ask, clock, decided, refused, asked, seen } = open();
  expect(await ask("roots/list", 100)).toBe(6);
  clock.advance(30_000);
  expect(await ask("roots/list", 100)).toBe(3);
  clock.advance(3_600_000);
  expect(await ask("elicitation/create", 100)).toBe(6);
  expect([decided.length, asked.length, refused]).toEqual([15, 15, []]);
  expect(seen).toHaveLength(285);
});

test("what needs no verdict is passed on at any rate", async () => {
  const { ask, decided } = open();
  expect(await ask("ping", 100)).toBe(100);
  expect(decided).toEqual([]);
});
