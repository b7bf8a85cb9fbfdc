import { Catalogue } from "@reins/agents";
import { describe, expect, it } from "vitest";
import { forwardable } from "../wire/agent-channel.ts";
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

describe("a message of a client", () => {
  const launch = { strip: ["weakens", "vendor.options"] };
  const _meta = { weakens: 1, vendor: { options: { mode: "yolo" }, trace: "t" } };
  const kept = { vendor: { trace: "t" } };

  it.each([
    "session/prompt",
    "session/set_mode",
    "session/cancel",
    "session/close",
    "initialize",
    "_acme/run",
  ])("reaches the agent without what weakens its asking: %s", (method) => {
    expect(forwardable(launch, method, { sessionId: "s", _meta })).toEqual({ sessionId: "s", _meta: kept });
    expect(forwardable(launch, method, { sessionId: "s", _meta: { weakens: 1 } })).toEqual({
      sessionId: "s",
    });
  });

  it("that changes a setting has only the members that are decided", () => {
    const more = { permissionMode: "bypass" };
    const mode = { sessionId: "s", modeId: "plan" };
    expect(forwardable(launch, "session/set_mode", { ...mode, ...more })).toEqual(mode);
    const option = { sessionId: "s", configId: "x", value: true, type: "boolean" };
    expect(forwardable(launch, "session/set_config_option", { ...option, ...more })).toEqual(option);
    const prompt = { sessionId: "s", prompt: [] };
    expect(forwardable(launch, "session/prompt", { ...prompt, ...more })).toEqual(prompt);
    for (const method of ["session/close", "session/delete"])
      expect(forwardable(launch, method, { sessionId: "s", ...more })).toEqual({ sessionId: "s" });
    // All of a custom method is decided.
    expect(forwardable(launch, "_acme/run", { ...mode, ...more })).toEqual({ ...mode, ...more });
  });

  it("that sets a provider is decided by all that is forwarded, by the names of its headers", () => {
    const provider = {
      providerId: "p",
      apiType: "openai",
      baseUrl: "https://x.example",
      headers: { key: "secret" },
    };
    const sent = { ...provider, permissionMode: "bypass" };
    expect(forwardable(launch, "providers/set", sent)).toEqual(provider);
    expect(settingsOf("providers/set", provider, Catalogue.load().entry("claude"))).toEqual({
      ...{ provider: "p", api: "openai", url: "https://x.example", headers: ["key"] },
    });
  });
});
