import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { connect } from "@reins/sdk";
import type { StartedServer } from "@reins/sdk/start";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeRoom, type Room, startIn } from "../packages/sdk/system/fixtures/server.ts";

let room: Room;
let reins: StartedServer;
beforeAll(async () => {
  room = await makeRoom();
  reins = await startIn(room);
});
afterAll(async () => {
  await reins?.close();
  await room?.remove();
});

/** A running example. */
class Example {
  output = "";
  readonly ended: Promise<number>;
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;

  constructor(name: string, ...args: readonly string[]) {
    const file = fileURLToPath(new URL(name, import.meta.url));
    this.#child = spawn(process.execPath, [file, ...args], {
      env: { ...process.env, REINS_URL: reins.url, REINS_TOKEN: reins.token },
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#child.stdout.setEncoding("utf8").on("data", (text: string) => {
      this.output += text;
    });
    this.ended = once(this.#child, "close").then(([code]) => code);
  }

  prints(text: string): Promise<void> {
    return expect.poll(() => this.output).toContain(text);
  }

  type(line: string): void {
    this.output = "";
    this.#child.stdin.write(`${line}\n`);
  }

  stop(): void {
    this.#child.kill("SIGTERM");
  }
}

test("sdk-chat.ts talks, shows verdicts and asks", async () => {
  const chat = new Example("sdk-chat.ts");
  await chat.prints("> ");
  chat.type("what is in this folder");
  await chat.prints("There is one file here: package.json");
  expect(chat.output).toContain("[allowed] List .");
  await chat.prints("\n> ");
  chat.type("run the tests");
  await chat.prints("Allow? [y/N]");
  chat.type("n");
  await chat.prints("I was not allowed to do that");
  await chat.prints("\n> ");
  chat.type("/quit");
  expect(await chat.ended).toBe(0);
});

test("sdk-approval-bot.ts answers what its rule knows and leaves the rest to people", async () => {
  const bot = new Example("sdk-approval-bot.ts");
  await bot.prints("answering as operator");
  await using asking = await connect(reins.url, { token: reins.token });
  const session = await asking.sessions.create();
  expect((await session.prompt("run the tests").result()).text).not.toContain("not allowed");
  expect(bot.output).toContain("allow_once: run_command npm test");
  const other = (await asking.sessions.create({ agent: "scripted" })).prompt("ask");
  const waiting = other.result();
  await bot.prints("left to people");
  other.cancel();
  await waiting;
  bot.stop();
  expect(await bot.ended).toBe(0);
});

test("sdk-ci-gate.ts passes an agent that asks, and fails the build on an action without a verdict", async () => {
  const good = new Example("sdk-ci-gate.ts", "native", "what is in this folder");
  expect(await good.ended).toBe(0);
  expect(good.output).toMatch(/^end_turn; [1-9]\d* verdicts proved, 0 actions without one before\n$/);
  const bad = new Example("sdk-ci-gate.ts", "scripted", "act");
  expect(await bad.ended).toBe(1);
  expect(bad.output).toContain("1 actions without one before");
});

test("sdk-supervisor.ts runs ten agents at once", async () => {
  const supervisor = new Example("sdk-supervisor.ts", "native");
  expect(await supervisor.ended).toBe(0);
  expect(supervisor.output.match(/ end_turn: [1-9]\d* verdicts/g)).toHaveLength(10);
});

test("sdk-files.ts sends a file, has an agent write one, and fetches it in two parts", async () => {
  const files = new Example("sdk-files.ts", fileURLToPath(new URL("README.md", import.meta.url)));
  expect(await files.ended).toBe(0);
  expect(files.output).toMatch(/^sent \d+ bytes\nhello.txt: \d+ bytes in two parts\n/);
  expect(files.output).toContain("hello");
});
