import { describe, expect, test } from "vitest";
import { settingsIn } from "./conversation.ts";

const select = (more: object = {}) => ({
  id: "model",
  name: "Model",
  type: "select",
  currentValue: "m1",
  options: [{ value: "m1", name: "One" }],
  ...more,
});
const modes = {
  currentModeId: "ask",
  availableModes: [
    { id: "ask", name: "Ask" },
    { id: "plan", name: "Plan" },
  ],
};

describe("the settings of a session", () => {
  test("are its modes, then its options", () => {
    expect(settingsIn({ modes, configOptions: [select({ category: "model" })] })).toEqual([
      {
        id: "mode",
        name: "Mode",
        isMode: true,
        category: "mode",
        current: "ask",
        choices: [
          { value: "ask", name: "Ask" },
          { value: "plan", name: "Plan" },
        ],
      },
      {
        id: "model",
        name: "Model",
        isMode: false,
        category: "model",
        current: "m1",
        choices: [{ value: "m1", name: "One" }],
      },
    ]);
  });

  test("list a mode that is also an option once", () => {
    const option = select({ id: "the-mode", category: "mode" });
    expect(settingsIn({ modes, configOptions: [option] }).map(({ id }) => id)).toEqual(["the-mode"]);
  });

  test("list the choices of groups in order", () => {
    const options = [
      { group: "fast", name: "Fast", options: [{ value: "m1", name: "One" }] },
      { value: "m2", name: "Two" },
      { group: "slow", name: "Slow", options: [{ value: "m3", name: "Three" }, { name: "no value" }] },
    ];
    const [setting] = settingsIn({ configOptions: [select({ options })] });
    expect(setting?.choices.map(({ value }) => value)).toEqual(["m1", "m2", "m3"]);
  });

  test.each([
    undefined,
    null,
    7,
    {},
    { modes: null, configOptions: null },
    { modes: { availableModes: [] } },
    { configOptions: "none" },
    { configOptions: [null, 7, {}] },
    { configOptions: [select({ type: "slider" })] },
    { configOptions: [select({ currentValue: 7 })] },
    { configOptions: [select({ id: undefined })] },
  ])("are none in %j", (answer) => {
    expect(settingsIn(answer)).toEqual([]);
  });

  test("have hidden characters in names escaped", () => {
    const name = "safe\u202Eeno on\u2066\u0007";
    const option = { id: "o", name, type: "select", currentValue: "a", options: [{ value: "a", name }] };
    const settings = settingsIn({
      modes: { currentModeId: "m", availableModes: [{ id: "m", name }] },
      configOptions: [option],
    });
    const names = settings.flatMap((setting) => [
      setting.name,
      ...setting.choices.map((choice) => choice.name),
    ]);
    expect(names.filter((shown) => shown !== "Mode")).toEqual(
      new Array(3).fill("safe⟨U+202E⟩eno on⟨U+2066⟩⟨U+0007⟩"),
    );
  });
});
