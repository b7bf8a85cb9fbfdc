import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import type { StdioServer } from "../src/server-entry.ts";

/** An agent that does nothing but call one tool, over stdio. */
export class Caller {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #waiting = new Map<number, (line: string) => void>();
  #lastId = 0;

  private constructor(child: ChildProcessByStdio<Writable, Readable, null>) {
    this.#child = child;
    let held = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      const lines = (held + chunk).split("\n");
      held = lines.pop() ?? "";
      for (const line of lines) this.#take(line);
    });
  }

  /** Starts what the agent was given, and introduces itself. */
  static async start({ command, args, env }: StdioServer): Promise<Caller> {
    const own = Object.fromEntries(env.map(({ name, value }) => [name, value]));
    const caller = new Caller(spawn(command, args, { env: own, stdio: ["pipe", "pipe", "inherit"] }));
    const clientInfo = { name: "bench", version: "1" };
    await caller.#ask("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
    await caller.#ask("tools/list", {});
    return caller;
  }

  /** Calls the tool. */
  async call(): Promise<void> {
    const line = await this.#ask("tools/call", {
      name: "echo",
      arguments: { path: "/tmp/a.txt", text: "x".repeat(200) },
    });
    if (!line.includes("here you are")) throw new Error(`not an answer: ${line}`);
  }

  /** Leaves. */
  async stop(): Promise<void> {
    this.#child.stdin.end();
    await once(this.#child, "exit");
  }

  #ask(method: string, params: object): Promise<string> {
    this.#lastId += 1;
    const { promise, resolve } = Promise.withResolvers<string>();
    this.#waiting.set(this.#lastId, resolve);
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: this.#lastId, method, params })}\n`);
    return promise;
  }

  #take(line: string): void {
    const { id } = JSON.parse(line);
    this.#waiting.get(id)?.(line);
    this.#waiting.delete(id);
  }
}
