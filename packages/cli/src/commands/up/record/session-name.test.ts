import { describe, expect, it } from "vitest";
import { agentName, sessionName } from "./session-name.ts";

describe("the name of a session", () => {
  it("is made of agent and session", () => {
    expect(sessionName({ agent_id: "reed", session_id: "s-1" })).toBe("reed:ahp:s-1");
  });

  it("is nobody else's, whatever they call themselves", () => {
    const pairs = [
      { agent_id: "a:ahp:b", session_id: "c" },
      { agent_id: "a", session_id: "b:ahp:c" },
      { agent_id: "a%3Aahp%3Ab", session_id: "c" },
      { agent_id: "", session_id: "c" },
      { agent_id: "%", session_id: "c" },
    ];
    expect(new Set(pairs.map(sessionName)).size).toBe(pairs.length);
  });

  it("lets nobody pass for the system", () => {
    expect(agentName({ agent_id: "reins:system" })).toBe("reins%3Asystem");
  });
});
