import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Board } from "../src/mail/board.ts";
import { MAIL_LIMITS, mailFile } from "../src/mail/mail-file.ts";
import { scratchFolder } from "../test/scratch.ts";
import { run } from "./mail/run.ts";

const COUNT = 60;

function numbersOf(name: string, bodies: readonly string[]): number[] {
  return bodies.flatMap((body) =>
    body.startsWith(`${name}/`) ? [Number.parseInt(body.slice(name.length + 1), 10)] : [],
  );
}

const ALL = Array.from({ length: COUNT }, (_, number) => number);

async function write(home: string, ...programs: readonly (readonly [string, ...(string | number)[]])[]) {
  const ended = await Promise.all(programs.map(([program, ...args]) => run(program, ...args)));
  expect(ended.map(({ code, complained }) => [code, complained])).toEqual(programs.map(() => [0, ""]));
  const path = join(home, "agent-mailbox.jsonl");
  const { messages, faults } = await mailFile(path, MAIL_LIMITS).read();
  return { bodies: messages.map(({ body }) => body), faults };
}

test("concurrent writers of one mailbox and one board lose and mix nothing", async () => {
  const home = await scratchFolder();
  const path = join(home, "agent-mailbox.jsonl");
  const names = ["ada", "bob", "eve"];
  const { bodies, faults } = await write(
    home,
    ...names.map((name) => ["sender", home, name, COUNT] as const),
    ["stranger", path, "haak", COUNT],
  );
  expect(faults).toEqual([]);
  // Each once, in the order of its sender.
  for (const name of [...names, "haak"]) expect(numbersOf(name, bodies)).toEqual(ALL);
  const board = await new Board({ home, tenant: "default" }).read(500);
  for (const name of names) {
    const posts = board.filter((line) => line.startsWith(`[${name}] `));
    expect(posts.map((line) => line.replace(/ \(.*/, ""))).toEqual(
      ALL.map((number) => `[${name}] ${number} done`),
    );
  }
  expect(readFileSync(join(home, "board.md"), "utf8").split("\n")).toHaveLength(COUNT * names.length + 1);
});

test("a program that writes lines in pieces loses no message", async () => {
  const home = await scratchFolder();
  const path = join(home, "agent-mailbox.jsonl");
  const { bodies } = await write(
    home,
    ["sender", home, "ada", COUNT],
    ["sender", home, "bob", COUNT],
    ["stranger", path, "piecemeal", COUNT, "halves"],
  );
  for (const name of ["ada", "bob"]) expect(numbersOf(name, bodies)).toEqual(ALL);
});
