import { EventEmitter } from "node:events";
import { expect, it } from "vitest";
import { type KeyInput, readKeys } from "./approvals.ts";

class Input extends EventEmitter implements KeyInput {
  raw = false;
  flowing = false;
  setRawMode(raw: boolean) {
    this.raw = raw;
  }
  setEncoding() {}
  resume() {
    this.flowing = true;
  }
  pause() {
    this.flowing = false;
  }
}

it("reads single characters as keys and ignores pasted text and named keys", () => {
  const input = new Input();
  const pressed: string[] = [];
  const finish = readKeys(input, (key) => pressed.push(key));
  expect(input).toMatchObject({ raw: true, flowing: true });
  for (const text of ["a", "\u001b[A", "aaa", "A"]) input.emit("data", text);
  finish();
  input.emit("data", "d");
  expect(pressed).toEqual(["a", "A"]);
  expect(input).toMatchObject({ raw: false, flowing: false });
});
