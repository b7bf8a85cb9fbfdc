import { describe, expect, test } from "vitest";
import { commandsFor, composerKey } from "./composer.tsx";

const commands = ["compact", "context", "help"].map((name) => ({ name, about: "", hint: undefined }));
const names = (text: string) => commandsFor(text, commands).map(({ name }) => name);

test("lists all commands after a slash and filters them by prefix", () => {
  expect(names("/")).toEqual(["compact", "context", "help"]);
  expect(names("/Co")).toEqual(["compact", "context"]);
  expect(names("/x")).toEqual([]);
});

test("lists no command after a space or without a slash", () => {
  expect(names("/help me")).toEqual([]);
  expect(names("a /")).toEqual([]);
  expect(names("")).toEqual([]);
});

describe("the keys of the input", () => {
  const input = { text: "/co", offered: commands.slice(0, 2), place: 0, isRunning: false };
  const press = (key: string, more: Partial<typeof input> & { shiftKey?: boolean } = {}) => {
    const { shiftKey = false, ...rest } = more;
    return composerKey({ key, shiftKey }, { ...input, ...rest });
  };

  test("select a command and start over at the end", () => {
    expect(press("ArrowDown")).toEqual({ kind: "select", place: 1 });
    expect(press("ArrowDown", { place: 1 })).toEqual({ kind: "select", place: 0 });
    expect(press("ArrowUp")).toEqual({ kind: "select", place: 1 });
    expect(press("ArrowUp", { place: 1 })).toEqual({ kind: "select", place: 0 });
  });

  test("start from the last command if fewer are offered than before", () => {
    expect(press("ArrowUp", { place: 7 })).toEqual({ kind: "select", place: 0 });
    expect(press("Tab", { place: 7 })).toMatchObject({ kind: "take", command: { name: "context" } });
  });

  test.each(["Tab", "Enter"])("take the selected command with %s", (key) => {
    expect(press(key)).toMatchObject({ kind: "take", command: { name: "compact" } });
  });

  test("send a command that is written out", () => {
    expect(press("Enter", { text: "/compact" })).toEqual({ kind: "send" });
    expect(press("Tab", { text: "/compact" })).toBeUndefined();
  });

  test("send with Enter, start a line with Shift", () => {
    expect(press("Enter", { text: "hi", offered: [] })).toEqual({ kind: "send" });
    expect(press("Enter", { text: "hi", offered: [], shiftKey: true })).toBeUndefined();
  });

  test("stop a running turn with Escape", () => {
    expect(press("Escape", { isRunning: true, offered: [] })).toEqual({ kind: "stop" });
    expect(press("Escape", { offered: [] })).toBeUndefined();
  });

  test.each(["a", "ArrowDown", "ArrowUp", "Tab"])("leave %s to the input if no command is offered", (key) => {
    expect(press(key, { offered: [] })).toBeUndefined();
  });
});
