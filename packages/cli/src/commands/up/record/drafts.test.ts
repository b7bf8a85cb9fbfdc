import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AhpEvent } from "@reins/ahp";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Commitment } from "./commitment.ts";
import { serverDraft, sessionDraft, verdictDraft } from "./drafts.ts";

const event: AhpEvent = {
  event_type: "pre_action",
  session_id: "s",
  agent_id: "reed",
  timestamp: "t",
  depth: 2,
  payload: { tool_name: "bash", arguments: { command: "export TOKEN=hunter2" } },
};
const blocked = { verdict: "blocked", reason: "no policy is loaded" } as const;

describe("what is recorded", () => {
  let folder: string;
  let commitment: Commitment;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "reins-drafts-"));
    commitment = await Commitment.open(folder);
  });
  afterAll(() => rm(folder, { recursive: true }));

  it("of a verdict is what was decided about which tool, and nothing of what it was given", () => {
    const draft = verdictDraft(event, blocked, commitment);
    expect(draft).toMatchObject({
      quality: "policy_verdict",
      actor: "reins:system",
      entity_id: "reed:ahp:s",
      target: "bash",
      payload: {
        verdict: "blocked",
        reason: "no policy is loaded",
        event_type: "pre_action",
        tool: "bash",
        depth: 2,
        enforcement: "asked",
        payload_commitment: commitment.to(event.payload),
      },
    });
    expect(JSON.stringify(draft)).not.toContain("hunter2");
  });

  it("of a verdict about no tool is about the session", () => {
    for (const payload of [null, "text", {}, { tool_name: 5 }, { tool_name: "" }]) {
      const draft = verdictDraft({ ...event, payload }, blocked, commitment);
      expect(draft.target).toBe("reed:ahp:s");
      expect(draft.payload).not.toHaveProperty("tool");
    }
  });

  it("of a tool with an endless name is its beginning", () => {
    const draft = verdictDraft({ ...event, payload: { tool_name: "🐎".repeat(500) } }, blocked, commitment);
    expect(draft.target).toHaveLength(200);
    expect(draft.target.isWellFormed()).toBe(true);
  });

  it("of a session is its agent's word", () => {
    const draft = sessionDraft(
      { ...event, event_type: "session_start", agent_id: "reins:system" },
      commitment,
    );
    expect(draft).toMatchObject({
      quality: "session_lifecycle",
      actor: "reins%3Asystem",
      entity_id: "reins%3Asystem:ahp:s",
      payload: { event: "session_start", depth: 2 },
    });
    expect(JSON.stringify(draft)).not.toContain("hunter2");
  });

  it("of the server itself is the system's", () => {
    expect(serverDraft("server_start", "1.2.3")).toMatchObject({
      actor: "reins:system",
      payload: { event: "server_start", version: "1.2.3" },
    });
  });
});
