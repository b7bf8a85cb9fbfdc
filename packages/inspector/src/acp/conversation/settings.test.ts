import { expect, test } from "vitest";
import { settingsIn } from "./settings.ts";

test("escapes hidden characters in the names of settings", () => {
  const name = "safe\u202Eeno on\u2066\u0007";
  const option = { id: "o", name, type: "select", currentValue: "a", options: [{ value: "a", name }] };
  const modes = { currentModeId: "m", availableModes: [{ id: "m", name }] };
  const settings = settingsIn({ modes, configOptions: [option] });
  const names = settings.flatMap((setting) => [
    setting.name,
    ...setting.choices.map((choice) => choice.name),
  ]);
  expect(names.filter((shown) => shown !== "Mode")).toEqual(
    new Array(3).fill("safe⟨U+202E⟩eno on⟨U+2066⟩⟨U+0007⟩"),
  );
});
