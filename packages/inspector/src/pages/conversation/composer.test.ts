import { expect, test } from "vitest";
import { commandsFor } from "./composer.tsx";

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
