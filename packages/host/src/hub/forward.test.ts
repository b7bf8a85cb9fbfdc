import { describe, expect, it } from "vitest";
import { expectSetting } from "./forward.ts";

const settings = {
  modes: { currentModeId: "default", availableModes: [{ id: "default" }, { id: "plan" }] },
  configOptions: [
    {
      id: "effort",
      type: "select",
      options: [{ value: "low" }, { group: "more", options: [{ value: "high" }] }],
    },
    { id: "auto_approve", type: "boolean", currentValue: false },
  ],
};

describe("a setting that an agent has not announced", () => {
  it.each([
    ["session/set_mode", { modeId: "nonsense" }, 'unknown mode "nonsense"; there are default, plan'],
    ["session/set_mode", {}, "unknown mode undefined; there are default, plan"],
    [
      "session/set_config_option",
      { configId: "nonsense", value: "low" },
      'unknown option "nonsense"; there are effort, auto_approve',
    ],
    [
      "session/set_config_option",
      { configId: "effort", value: "much" },
      'unknown value of effort "much"; there are low, high',
    ],
  ])("is an invalid parameter of %s that names what there is: %j", (method, params, message) => {
    expect(() => expectSetting(settings, method, params)).toThrow(
      expect.objectContaining({ code: -32_602, message }),
    );
  });

  it.each([
    ["session/set_mode", { modeId: "plan" }],
    ["session/set_config_option", { configId: "effort", value: "high" }],
    ["session/set_config_option", { configId: "auto_approve", value: true }],
  ])("is not one that it has announced: %s %j", (method, params) => {
    expect(() => expectSetting(settings, method, params)).not.toThrow();
  });

  it("is left to the agent where it announced none", () => {
    expect(() => expectSetting({}, "session/set_mode", { modeId: "nonsense" })).not.toThrow();
  });
});
