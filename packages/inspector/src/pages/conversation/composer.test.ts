import { expect, test } from "vitest";
import { commandsFor } from "./composer.tsx";

const commands = ["compact", "context", "help"].map((name) => ({ name, about: "", hint: undefined }));
const names = (text: string) => commandsFor(text, commands).map(({ name }) => name);

test("a slash offers every command, and letters narrow them down", () => {
  expect(names("/")).toEqual(["compact", "context", "help"]);
  expect(names("/Co")).toEqual(["compact", "context"]);
  expect(names("/x")).toEqual([]);
});

test("nothing is offered once a command is written, or where none is", () => {
  expect(names("/help me")).toEqual([]);
  expect(names("a /")).toEqual([]);
  expect(names("")).toEqual([]);
});
