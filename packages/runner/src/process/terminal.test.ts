import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { terminalLine, terminalNumber } from "./terminal.ts";

const SIZE = { cols: 80, rows: 24 };

test("terminalLine passes every argument on as it is", () => {
  const args = ["plain", "", "it's", "$HOME `id` $(id)", 'a "b" \\', "new\nline", "-n; exit 9", "*"];
  const printer = "process.stdout.write(JSON.stringify([process.argv.slice(1), process.env.SHELL]))";
  const launch = { command: process.execPath, args: ["-e", printer, "--", ...args], env: { SHELL: "a'b" } };
  const line = terminalLine(launch, SIZE).replace(/^stty rows 24 cols 80; /, "");
  expect(JSON.parse(execFileSync("/bin/sh", ["-c", line], { encoding: "utf8" }))).toEqual([args, "a'b"]);
});

test("terminalLine takes away the shell that script needed where there was none", () => {
  expect(terminalLine({ command: "x", args: [], env: {} }, SIZE)).toBe(
    "stty rows 24 cols 80; unset SHELL; exec 'x'",
  );
});

test.each([
  [0, undefined],
  [(136 << 8) | 3, 3],
  [(136 << 8) | 255, 255],
  [(136 << 8) | (1 << 20) | 4, 260],
  [(4 << 8) | 1, undefined],
])("terminalNumber of the device %i is %s", (device, number) => {
  expect(terminalNumber(device)).toBe(number);
});
