import type { Agent } from "@reins/api";
import { describe, expect, test } from "vitest";
import { anAgent, aSession } from "../../../test/examples.ts";
import { sessionState } from "./sessions.ts";
import { agentOptions } from "./start-dialog.tsx";

const installed = (agent: string): Agent =>
  anAgent({ agent, name: agent.toUpperCase(), install: { version: "1" } as Agent["install"] });
const available = (agent: string) => anAgent({ agent, name: agent.toUpperCase() });
const unsupported = anAgent({ agent: "old", support: { level: "unsupported" } });

describe("the agents to choose from", () => {
  test("are the installed ones, then the others, which cannot be chosen", () => {
    expect(agentOptions([available("reed"), installed("pond"), installed("native")], "native")).toEqual([
      ["pond", "POND"],
      ["native", "NATIVE"],
      ["reed", "REED (not installed)", true],
    ]);
  });

  test("include the chosen one before the list is loaded, and each once", () => {
    expect(agentOptions([], "native")).toEqual(["native"]);
    expect(agentOptions([available("reed")], "reed")).toEqual(["reed"]);
  });

  test("do not include unsupported ones", () => {
    expect(agentOptions([unsupported, installed("pond")], "pond")).toEqual([["pond", "POND"]]);
  });
});

describe("the state of a session", () => {
  const ended = { reason: "terminated", message: undefined } as NonNullable<
    ReturnType<typeof aSession>["ended"]
  >;

  test.each([
    [aSession(), 0, "idle", "neutral"],
    [aSession({ agent_runs: false }), 0, "resting", "neutral"],
    [aSession({ state: "running" }), 0, "running", "accent"],
    [aSession({ state: "running" }), 1, "waiting", "warn"],
    [aSession({ ended }), 1, "terminated", "neutral"],
  ])("is a word with a colour: %#", (session, pending, text, tone) => {
    expect(sessionState(session, pending)).toMatchObject({ text, tone });
  });

  test("is explained", () => {
    expect(sessionState(aSession(), 0).title).toBe("the agent is running and waits for a prompt");
    expect(sessionState(aSession({ ended }), 0).title).toBe("the session has ended");
  });
});
