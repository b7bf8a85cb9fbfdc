// Appends lines as other programs do: whole ones, or in two halves.
import { appendFileSync } from "node:fs";
import { setImmediate as otherTurn } from "node:timers/promises";

const [path = "", name = "", count = "0", manner = "whole"] = process.argv.slice(2);
for (let number = 0; number < Number(count); number += 1) {
  const line = `${JSON.stringify({ to: "coder", from: name, body: `${name}/${number} ${"y".repeat(3_000)}` })}\n`;
  const middle = manner === "halves" ? 1_000 : line.length;
  appendFileSync(path, line.slice(0, middle));
  await otherTurn();
  if (middle < line.length) appendFileSync(path, line.slice(middle));
  await otherTurn();
}
