import type { Readable, Writable } from "node:stream";
import { type Clock, errorMessage, LineReader, LineWriter, messageIdIn, settlesWithin } from "@reins/kit";
import { Family, KeptOutput, type Owner, spawnMarked } from "@reins/runner";
import type { ServerContext } from "../gate.ts";
import { isObject, kindOf, type Message, objectIn, RPC, readMessages } from "../message.ts";
import type { StdioServer } from "../server-entry.ts";
import type { OpenLink, ServerEvents, ServerLink } from "./server-run.ts";

/** What it takes to start a server as a process. */
export interface ProcessParts extends Pick<ServerContext, "hide" | "limits" | "clock"> {
  readonly server: StdioServer;
  readonly cwd: string;
  /** What every server gets; the declaration adds to it. */
  readonly environment: Readonly<Record<string, string>>;
  readonly spawn: SpawnServer;
}

/** As much of either end of what a server complains of is kept. */
const KEPT_STDERR_BYTES = 2_048;
/** How long the rest of what an ended process wrote may take to arrive. */
const LAST_WORDS_MS = 1_000;

/** Starts the server's program and speaks to it by lines. */
export function processLink(parts: ProcessParts): OpenLink {
  const { server, cwd, environment, spawn } = parts;
  const env = { ...environment, ...Object.fromEntries(server.env.map(({ name, value }) => [name, value])) };
  return async (events) => new ProcessLink(await spawn(server.command, server.args, env, cwd), parts, events);
}

class ProcessLink implements ServerLink {
  readonly #child: SpawnedServer;
  readonly #parts: ProcessParts;
  readonly #events: ServerEvents;
  readonly #stderr = new KeptOutput(KEPT_STDERR_BYTES);
  readonly #writer: LineWriter;
  readonly #gone = Promise.withResolvers<void>();
  #fault: string | undefined;

  constructor(child: SpawnedServer, parts: ProcessParts, events: ServerEvents) {
    this.#child = child;
    this.#parts = parts;
    this.#events = events;
    this.#writer = new LineWriter(child.stdin);
    const lines = this.#lines();
    const spoken = Promise.withResolvers<void>();
    child.stdout.on("data", (chunk: Buffer) => lines.push(chunk));
    child.stdout.once("close", () => spoken.resolve());
    child.stderr.on("data", (chunk: Buffer) => this.#stderr.push(chunk));
    // A broken pipe means that the process has ended, which is handled below.
    for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe.on("error", () => {});
    child.stdout.once("end", () => void this.#awaitExit());
    void child.exited.then((exit) => this.#leave(exit, lines, spoken.promise));
  }

  send(message: Message): void {
    this.#writer.write(JSON.stringify(message));
    if (this.#writer.buffered > this.#parts.limits.bufferedBytes) this.#end("does not take its input");
  }

  cancel(_id: number, notification: Message): void {
    this.send(notification);
  }

  async close(): Promise<void> {
    const { limits, clock } = this.#parts;
    void this.#writer.finish();
    await settlesWithin(this.#child.exited, limits.stopMs, clock);
    await this.#child.kill();
    await this.#gone.promise;
  }

  #lines(): LineReader {
    return new LineReader(
      {
        line: (text) => this.#read(text.trim()),
        refused: (fault, cut) =>
          fault === "too_large"
            ? this.#events.skipped(fault, messageIdIn(cut))
            : this.#events.skipped("malformed"),
      },
      this.#parts.limits.messageBytes,
    );
  }

  #read(text: string): void {
    if (text === "") return;
    for (const message of readMessages(text) ?? [undefined]) {
      if (isObject(message)) this.#events.message(message);
      else this.#events.skipped("malformed");
    }
  }

  /** The end of its output is usually the first that is seen of a process that ends. */
  async #awaitExit(): Promise<void> {
    const left = await settlesWithin(this.#child.exited, LAST_WORDS_MS, this.#parts.clock);
    if (!left) this.#end("closed its output");
  }

  /** Kills a process that is of no use any more; the reason is reported with its exit code. */
  #end(fault: string): void {
    this.#fault ??= fault;
    void this.#child.kill();
  }

  async #leave(exit: Exit, lines: LineReader, spoken: Promise<void>): Promise<void> {
    // Something it started may hold the pipe open.
    await this.#child.kill();
    await settlesWithin(spoken, LAST_WORDS_MS, this.#parts.clock);
    lines.end();
    const stderr = this.#parts.hide(this.#lastWords());
    const how = exit.signal ? `was ended by ${exit.signal}` : `ended with exit code ${exit.code}`;
    const what = this.#fault ? `${this.#fault} and ${how}` : how;
    this.#events.closed({
      text: `the MCP server ${this.#parts.server.name} ${what}${stderr && `; its last words: ${stderr}`}`,
      delivered: true,
      data: { exitCode: exit.code, signal: exit.signal, stderr },
    });
    this.#gone.resolve();
  }

  #lastWords(): string {
    const { head, tail, omitted } = this.#stderr.read();
    return `${head}${omitted > 0 ? " … " : ""}${tail}`.trim();
  }
}

/** How a process ended. */
interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** A server that runs as a process. */
interface SpawnedServer {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Settles when the process has ended, and never rejects; something it started may still run. */
  readonly exited: Promise<Exit>;
  /** Ends it and what it started, and never rejects. May be called more than once, and after it ended. */
  kill(): Promise<void>;
}

/** Starts a server with that environment and no other; rejects when it cannot be started. */
export type SpawnServer = (
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd: string,
) => Promise<SpawnedServer>;

/** How long processes may take to end after SIGTERM. */
const PATIENCE_MS = 1_000;

/**
 * Starts servers as agents are started: each in a group of its own, marked, and ended with all that came out of it when
 * it is stopped, or when this process dies.
 */
export function spawnOwned(owner: Owner, clock: Clock): SpawnServer {
  return async (command, args, env, cwd) => {
    const releaseLifeline = owner.lifeline.extend();
    try {
      const mark = owner.newMark();
      const spawned = await spawnMarked({ command, args, env, cwd, label: "its program" }, mark);
      const { child, pid, stdin, stdout, stderr } = spawned;
      const family = new Family(pid, mark, owner.table, false);
      const release = owner.lifeline.hold(pid);
      const { promise: exited, resolve } = Promise.withResolvers<Exit>();
      child.once("exit", (code, signal) => {
        // At once, before the number of the group can be reused.
        family.kill();
        release();
        resolve({ code, signal });
      });
      let ended: Promise<void> | undefined;
      const end = async () => {
        await family.terminate();
        if (!(await settlesWithin(exited, PATIENCE_MS, clock))) family.kill();
        await exited;
        await family.end().finally(releaseLifeline);
      };
      const kill = () => {
        // Processes that could not be listed are left to the lifeline and to the next start.
        ended ??= end().catch(() => undefined);
        return ended;
      };
      return { stdin, stdout, stderr, exited, kill };
    } catch (error) {
      releaseLifeline();
      throw error;
    }
  };
}

/** What a program needs to find its way; nothing else of ours is a server's business. */
const NEEDED = [
  ...["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR"],
  ...["SystemRoot", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "TEMP", "PATHEXT"],
];

/** The environment that every server gets unless the host gives another. */
export function minimalEnvironment(own: NodeJS.ProcessEnv = process.env): Record<string, string> {
  return Object.fromEntries(NEEDED.flatMap((name) => (own[name] === undefined ? [] : [[name, own[name]]])));
}

/** A tool as MCP lists it. */
interface LocalTool {
  readonly name: string;
  readonly description: string;
  /** A JSON Schema of an object. */
  readonly inputSchema: Message;
}

/** An MCP server within this process. */
export interface LocalServer {
  readonly name: string;
  tools(signal: AbortSignal): Promise<readonly LocalTool[]>;
  /** Calls a tool; what it throws is shown to the model as the error of the call. */
  call(name: string, given: unknown, signal: AbortSignal): Promise<string>;
  /** Calls a listener whenever there may be other tools, until the returned function is called; without it, there never are. */
  subscribe?(listener: () => void): () => void;
}

/** Opens a server that runs here. */
export function localLink(server: LocalServer): OpenLink {
  return async (events) => new LocalLink(server, events);
}

/** The version of MCP that is spoken where an agent names none. */
const VERSION = "2025-06-18";

class LocalLink implements ServerLink {
  readonly #server: LocalServer;
  readonly #events: ServerEvents;
  readonly #pending = new Map<number, AbortController>();
  readonly #unsubscribe: (() => void) | undefined;
  #isClosed = false;

  constructor(server: LocalServer, events: ServerEvents) {
    this.#server = server;
    this.#events = events;
    this.#unsubscribe = server.subscribe?.(() =>
      events.message({ jsonrpc: "2.0", method: "notifications/tools/list_changed" }),
    );
  }

  send(message: Message): void {
    const { id } = message;
    if (kindOf(message) === "request" && typeof id === "number") void this.#answer(id, message);
  }

  cancel(id: number): void {
    this.#pending.get(id)?.abort(new Error("the call was cancelled"));
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#unsubscribe?.();
    for (const controller of this.#pending.values()) controller.abort(new Error("the session is over"));
    this.#events.closed({ text: `${this.#server.name} was closed`, delivered: true });
  }

  async #answer(id: number, message: Message): Promise<void> {
    const controller = new AbortController();
    this.#pending.set(id, controller);
    const response = await this.#respond(message, controller.signal).catch((error: unknown) => ({
      error: { code: RPC.internal, message: errorMessage(error) },
    }));
    this.#pending.delete(id);
    if (!this.#isClosed) this.#events.message({ jsonrpc: "2.0", id, ...response });
  }

  async #respond(message: Message, signal: AbortSignal): Promise<Message> {
    const params = objectIn(message, "params") ?? {};
    switch (message.method) {
      case "initialize":
        return {
          result: {
            protocolVersion: typeof params.protocolVersion === "string" ? params.protocolVersion : VERSION,
            capabilities: { tools: this.#server.subscribe ? { listChanged: true } : {} },
            serverInfo: { name: this.#server.name, version: "0.1.0" },
          },
        };
      case "ping":
        return { result: {} };
      case "tools/list":
        return { result: { tools: await this.#server.tools(signal) } };
      case "tools/call":
        return { result: await this.#call(params, signal) };
      default:
        return {
          error: { code: RPC.methodNotFound, message: `"${String(message.method)}" is not known here` },
        };
    }
  }

  async #call({ name, arguments: given = {} }: Message, signal: AbortSignal): Promise<Message> {
    try {
      const text = await this.#server.call(String(name), given, signal);
      return { content: [{ type: "text", text }] };
    } catch (error) {
      return { content: [{ type: "text", text: errorMessage(error) }], isError: true };
    }
  }
}
