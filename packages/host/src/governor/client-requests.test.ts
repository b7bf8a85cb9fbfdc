import { Catalogue } from "@reins/agents";
import { describe, expect, it } from "vitest";
import { settingsOf } from "./client-requests.ts";

describe("an option that the launch profile holds", () => {
  const catalogue = Catalogue.load();
  const asks = (agent: string, configId: string, value: unknown) =>
    settingsOf("session/set_config_option", { configId, value }, catalogue.entry(agent)).asks;

  it("may be set to what keeps the agent asking, and to nothing else", () => {
    expect(asks("copilot", "allow_all", "off")).toBe("true");
    expect(asks("copilot", "allow_all", "on")).toBe("false");
    expect(asks("cline", "auto_approve", false)).toBe("true");
    expect(asks("cline", "auto_approve", "false")).toBe("false");
    expect(asks("cline", "auto_approve", true)).toBe("false");
  });
});
