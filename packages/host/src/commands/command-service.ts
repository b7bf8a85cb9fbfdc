import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { settlesWithin } from "@reins/kit";
import {
  type Confinement,
  confine,
  Family,
  type Launch,
  type Owner,
  type ProcessRegistry,
  type Sandbox,
  type Spawned,
  spawnMarked,
} from "@reins/runner";
import type { Principal } from "@reins/supervisor";
import { CALLER } from "../control/caller-scope.ts";
import type { CallerAccess, CallerPlace, FileCaller } from "../files/caller-access.ts";
import { FileFault } from "../files/file-fault.ts";
import { reachesAll } from "../governor/session-folders.ts";
import { CommandLog, type CommandOutput, type LogEntry, type LogQuery } from "./command-log.ts";

export interface CommandServiceOptions {
  readonly access: CallerAccess;
  readonly owner: Owner;
  readonly register: ProcessRegistry;
  /** Everything that commands find in their environment. */
  readonly environment: () => Promise<Readonly<Record<string, string>>>;
  /** What confines the commands of callers who do not reach all folders. */
  readonly confinementFor: (principal: Principal, place: CallerPlace) => Promise<Confinement>;
  readonly sandbox?: Sandbox | undefined;
  readonly onError: (error: unknown) => void;
}

/** The limits of commands. */
export interface CommandLimits {
  readonly maxConcurrentProcesses: number;
  readonly defaultRunTimeoutMs: number;
  readonly maxRunTimeoutMs: number;
  readonly maxOutputBytes: number;
  readonly maxLogBytesPerProcess: number;
  readonly maxInputBytesPerRequest: number;
}

const LIMITS: CommandLimits = {
  maxConcurrentProcesses: 64,
  defaultRunTimeoutMs: 30_000,
  maxRunTimeoutMs: 300_000,
  maxOutputBytes: 1024 * 1024,
  maxLogBytesPerProcess: 10 * 1024 * 1024,
  maxInputBytesPerRequest: 64 * 1024,
};

/** A command to start. */
export interface CommandRequest {
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  readonly cwd?: string | null | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly interactive?: boolean | undefined;
  readonly tty?: boolean | undefined;
}

/** A command as its caller sees it. */
export interface ShownCommand {
  readonly id: string;
  readonly command: string;
  readonly args: string[];
  readonly cwd: string;
  readonly owner: "user";
  readonly interactive: boolean;
  readonly tty: false;
  readonly status: "running" | "exited";
  readonly pid: number | null;
  readonly exitCode: number | null;
  readonly createdAtMs: number;
  readonly exitedAtMs: number | null;
}

/** A command that was started. */
interface Started {
  readonly principal: Principal;
  readonly request: CommandRequest;
  readonly cwd: string;
  readonly spawned: Spawned;
  readonly family: Family;
  readonly log: CommandLog;
  readonly createdAtMs: number;
  /** Settles when it has ended, with all that came out of it. */
  readonly ended: Promise<void>;
  exitedAtMs: number | null;
}

/** How long a command may take to end after SIGTERM, and its pipes after it has ended. */
const GRACE_MS = 2_000;
/** How many commands that have ended are remembered. */
const MOST_ENDED = 256;

/** Commands that callers of the API run. Each start is decided about, as the command of an agent is. */
export class CommandService {
  readonly #options: CommandServiceOptions;
  readonly #commands = new Map<string, Started>();
  #limits = LIMITS;
  #isClosed = false;

  constructor(options: CommandServiceOptions) {
    this.#options = options;
  }

  get limits(): CommandLimits {
    return this.#limits;
  }

  /** Sets limits, up to those that it started with. */
  limit(wanted: CommandLimits): CommandLimits {
    const [given, most] = [new Map(Object.entries(wanted)), Object.entries(LIMITS)];
    const bounded = most.map(([name, value]) => [
      name,
      Math.max(1, Math.min(given.get(name) ?? value, value)),
    ]);
    this.#limits = { ...LIMITS, ...Object.fromEntries(bounded) };
    return this.#limits;
  }

  /** Runs a command to its end, or its timeout. */
  async run(
    caller: FileCaller,
    request: CommandRequest & {
      readonly timeoutMs?: number | null | undefined;
      readonly maxOutputBytes?: number | null | undefined;
    },
  ): Promise<
    CommandOutput & {
      readonly exitCode: number | null;
      readonly timedOut: boolean;
      readonly durationMs: number;
    }
  > {
    const { defaultRunTimeoutMs, maxRunTimeoutMs, maxOutputBytes } = this.#limits;
    const timeout = Math.min(request.timeoutMs ?? defaultRunTimeoutMs, maxRunTimeoutMs);
    const most = Math.min(request.maxOutputBytes ?? maxOutputBytes, maxOutputBytes);
    const started = await this.#start(caller, request);
    const { family, ended, spawned } = started;
    const abort = () => family.kill();
    caller.signal.addEventListener("abort", abort, { once: true });
    const timedOut = !(await settlesWithin(ended, timeout));
    if (timedOut) await this.#stop(started);
    caller.signal.removeEventListener("abort", abort);
    caller.signal.throwIfAborted();
    const durationMs = Math.round((started.exitedAtMs ?? Date.now()) - started.createdAtMs);
    return { ...started.log.output(most), exitCode: spawned.child.exitCode, timedOut, durationMs };
  }

  /** Starts a command. */
  async start(caller: FileCaller, request: CommandRequest): Promise<ShownCommand> {
    if (request.tty)
      throw new FileFault("not_implemented", "commands have no terminal here; start it without tty");
    const id = randomUUID();
    const started = await this.#start(caller, request);
    this.#commands.set(id, started);
    const over = [...this.#commands].filter(([, { exitedAtMs }]) => exitedAtMs !== null);
    for (const [oldest] of over.slice(0, Math.max(0, over.length - MOST_ENDED)))
      this.#commands.delete(oldest);
    return shownCommand(id, started);
  }

  /** The commands that a principal started. */
  list(principal: Principal): readonly ShownCommand[] {
    return [...this.#commands].flatMap(([id, one]) => (isOf(one, principal) ? [shownCommand(id, one)] : []));
  }

  get(principal: Principal, id: string): ShownCommand {
    return shownCommand(id, this.#expect(principal, id));
  }

  /** Ends a command: with SIGTERM, or at once. Waits for that for a while. */
  async end(
    principal: Principal,
    id: string,
    { isKill = false, waitMs = GRACE_MS } = {},
  ): Promise<ShownCommand> {
    const started = this.#expect(principal, id);
    if (started.exitedAtMs === null) {
      if (isKill) started.family.kill();
      else await started.family.terminate();
      await settlesWithin(started.ended, waitMs);
    }
    return shownCommand(id, started);
  }

  /** Forgets a command that has ended. */
  forget(principal: Principal, id: string): void {
    if (this.#expect(principal, id).exitedAtMs === null)
      throw new FileFault("conflict", "it runs still; stop or kill it first");
    this.#commands.delete(id);
  }

  logs(principal: Principal, id: string, query: LogQuery): readonly LogEntry[] {
    return this.#expect(principal, id).log.entries(query);
  }

  /** Follows the output of a command from its first entry after a position; ends with it. */
  follow(principal: Principal, id: string, query: LogQuery, signal: AbortSignal): AsyncGenerator<LogEntry> {
    return this.#expect(principal, id).log.follow(query, signal);
  }

  /** Writes to the standard input of a command. */
  async input(principal: Principal, id: string, bytes: Uint8Array): Promise<number> {
    const { request, exitedAtMs, spawned } = this.#expect(principal, id);
    if (!request.interactive || exitedAtMs !== null || !spawned.stdin.writable)
      throw new FileFault("conflict", "it takes no input: it is not interactive, or has ended");
    if (bytes.length > this.#limits.maxInputBytesPerRequest)
      throw new FileFault(
        "too_large",
        `at most ${this.#limits.maxInputBytesPerRequest} bytes are taken at once`,
      );
    if (spawned.stdin.writableLength > this.#limits.maxInputBytesPerRequest)
      throw new FileFault("unavailable", "it has not read its earlier input");
    spawned.stdin.write(bytes);
    return bytes.length;
  }

  /** Ends all commands. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const running = [...this.#commands.values()].filter(({ exitedAtMs }) => exitedAtMs === null);
    await Promise.all(running.map((started) => this.#stop(started)));
  }

  #expect(principal: Principal, id: string): Started {
    const started = this.#commands.get(id);
    if (started && isOf(started, principal)) return started;
    throw new FileFault("not_found", `there is no command ${id}`);
  }

  async #start(caller: FileCaller, request: CommandRequest): Promise<Started> {
    const { access, environment, confinementFor, sandbox } = this.#options;
    const { principal } = caller;
    const running = [...this.#commands.values()].filter(
      (one) => one.exitedAtMs === null && isOf(one, principal),
    );
    if (this.#isClosed || running.length >= this.#limits.maxConcurrentProcesses)
      throw new FileFault("unavailable", "too many of your commands run");
    const { command, args = [], env = {} } = request;
    if ([command, ...args, ...Object.entries(env).flat()].some((text) => text.includes("\0")))
      throw new FileFault("invalid", "a command has no NUL");
    const place = await access.placeOf(caller);
    const { real: cwd, outOfReach } = await access.target(caller, place, request.cwd ?? ".", "fs/stat");
    const decided = {
      command: [command, ...args],
      cwd,
      ...(Object.keys(env).length > 0 && {
        env: Object.entries(env).map(([name, value]) => ({ name, value })),
      }),
    };
    const end = await access.begin({
      ...{ caller, place, kind: "terminal", tool: "terminal/create", arguments: decided, outOfReach },
    });
    try {
      const launch: Launch = {
        ...{ command, args, cwd, label: command },
        env: { ...(await environment()), ...env },
      };
      const confinement = reachesAll(principal) ? undefined : await confinementFor(principal, place);
      const confined = confinement && (await confine(launch, confinement, { ...(sandbox && { sandbox }) }));
      try {
        return await this.#spawn(
          caller,
          request,
          { launch: confined?.launch ?? launch, cwd, isConfined: confined !== undefined },
          async (exitCode) => {
            await confined?.close();
            await end(exitCode === 0 ? "completed" : "failed");
          },
        );
      } catch (error) {
        await confined?.close();
        throw error;
      }
    } catch (error) {
      await end("failed");
      const message = error instanceof Error ? error.message : String(error);
      throw new FileFault("conflict", message, { cause: error });
    }
  }

  async #spawn(
    { principal }: FileCaller,
    request: CommandRequest,
    {
      launch,
      cwd,
      isConfined,
    }: { readonly launch: Launch; readonly cwd: string; readonly isConfined: boolean },
    onEnd: (exitCode: number | null) => Promise<void>,
  ): Promise<Started> {
    const { owner, register, onError } = this.#options;
    const letGo = owner.lifeline.extend();
    const mark = owner.newMark();
    const spawned = await spawnMarked(launch, mark).catch((error: unknown) => {
      letGo();
      throw error;
    });
    const { child, stdin, stdout, stderr, pid } = spawned;
    const family = new Family(pid, mark, owner.table, isConfined);
    const release = owner.lifeline.hold(pid);
    const started_at = new Date().toISOString();
    const entry = register.add({
      agent: CALLER,
      tenant: principal.tenant,
      principal: principal.id,
      confined: isConfined,
      started_at,
    });
    const unroot = register.root(entry, { pid, mark });
    const log = new CommandLog(this.#limits.maxLogBytesPerProcess);
    for (const stream of [stdin, stdout, stderr]) stream.on("error", () => undefined);
    stdout.on("data", (bytes: Buffer) => log.push("stdout", bytes));
    stderr.on("data", (bytes: Buffer) => log.push("stderr", bytes));
    if (!request.interactive) stdin.end();
    const exited =
      child.exitCode === null && child.signalCode === null ? once(child, "exit") : Promise.resolve();
    const drained = Promise.all([stdout, stderr].map((stream) => stream.closed || once(stream, "close")));
    const over = async () => {
      await exited;
      // At once, before the group's number can be reused.
      family.kill();
      await settlesWithin(drained, GRACE_MS);
      stdout.destroy();
      stderr.destroy();
      release();
      await family.end();
      unroot();
      register.remove(entry);
      letGo();
      started.exitedAtMs = Date.now();
      log.end();
      await onEnd(child.exitCode);
    };
    const started: Started = {
      ...{ principal, request, cwd, spawned, family, log, createdAtMs: Date.now(), exitedAtMs: null },
      ended: Promise.resolve().then(over).catch(onError),
    };
    return started;
  }

  async #stop({ family, ended }: Started): Promise<void> {
    await family.terminate();
    if (!(await settlesWithin(ended, GRACE_MS))) family.kill();
    await ended;
  }
}

function isOf({ principal }: Started, { id, tenant }: Principal): boolean {
  return principal.id === id && principal.tenant === tenant;
}

function shownCommand(id: string, { request, cwd, spawned, createdAtMs, exitedAtMs }: Started): ShownCommand {
  const { command, args = [], interactive = false } = request;
  const isOver = exitedAtMs !== null;
  return {
    ...{ id, command, args: [...args], cwd, owner: "user", interactive, tty: false },
    status: isOver ? "exited" : "running",
    pid: isOver ? null : spawned.pid,
    exitCode: spawned.child.exitCode,
    ...{ createdAtMs, exitedAtMs },
  };
}
