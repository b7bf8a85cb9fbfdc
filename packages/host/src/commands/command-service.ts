import { randomUUID } from "node:crypto";
import { settlesWithin } from "@reins/kit";
import {
  type Confinement,
  confine,
  inTerminal,
  type Launch,
  type Owner,
  ProcessError,
  type ProcessRegistry,
  type Sandbox,
  SandboxError,
  type TerminalSize,
} from "@reins/runner";
import type { Principal, Quotas } from "@reins/supervisor";
import type { CallerAccess, CallerPlace, EndAccess, FileCaller } from "../files/caller-access.ts";
import { FileFault } from "../files/file-fault.ts";
import type { TenantRoom } from "../files/tenant-room.ts";
import { reachesAll } from "../governor/session-folders.ts";
import { type CommandOutput, type LogEntry, type LogQuery, OutputPace } from "./command-log.ts";
import { type CommandRequest, RunningCommand, type ShownCommand } from "./running-command.ts";

export interface CommandServiceOptions {
  readonly access: CallerAccess;
  readonly quotas: Pick<Quotas, "hold">;
  readonly room: Pick<TenantRoom, "require">;
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
  /** How many a principal may have running. */
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

/** A command to run to its end. */
type RunRequest = CommandRequest & {
  readonly timeoutMs?: number | null | undefined;
  readonly maxOutputBytes?: number | null | undefined;
};

/** What came of a command that was run to its end. */
type RunResult = CommandOutput & {
  readonly exitCode: number | null;
  readonly timedOut: boolean;
  readonly durationMs: number;
};

/** How many commands that have ended are remembered, of a principal. */
const MOST_ENDED = 16;
/** What the commands of a principal share for their output. */
const LOG_BYTES = 128 * 1024 * 1024;

/** Commands that callers of the API run. Each start is decided about, as the command of an agent is. */
export class CommandService {
  readonly #options: CommandServiceOptions;
  readonly #commands = new Map<string, RunningCommand>();
  readonly #running = new Set<RunningCommand>();
  readonly #starting = new Map<string, number>();
  /** By principal, as long as commands of it run. */
  readonly #paces = new Map<string, OutputPace>();
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
  async run(caller: FileCaller, request: RunRequest): Promise<RunResult> {
    const { defaultRunTimeoutMs, maxRunTimeoutMs, maxOutputBytes } = this.#limits;
    const timeout = Math.min(request.timeoutMs ?? defaultRunTimeoutMs, maxRunTimeoutMs);
    const most = Math.min(request.maxOutputBytes ?? maxOutputBytes, maxOutputBytes);
    const running = await this.#start(caller, request);
    const abort = () => running.kill();
    caller.signal.addEventListener("abort", abort, { once: true });
    if (caller.signal.aborted) abort();
    const timedOut = !(await settlesWithin(running.ended, timeout));
    if (timedOut) await running.stop();
    caller.signal.removeEventListener("abort", abort);
    caller.signal.throwIfAborted();
    const { exitCode, durationMs } = running;
    return { ...running.log.output(most), exitCode, timedOut, durationMs };
  }

  /** Starts a command. */
  async start(caller: FileCaller, request: CommandRequest): Promise<ShownCommand> {
    const id = randomUUID();
    const running = await this.#start(caller, request);
    this.#commands.set(id, running);
    const over = [...this.#commands].filter(([, one]) => one.isOver && one.isOf(caller.principal));
    for (const [oldest] of over.slice(0, Math.max(0, over.length - MOST_ENDED)))
      this.#commands.delete(oldest);
    return running.shown(id);
  }

  /** The commands that a principal started. */
  list(principal: Principal): readonly ShownCommand[] {
    return [...this.#commands].flatMap(([id, one]) => (one.isOf(principal) ? [one.shown(id)] : []));
  }

  get(principal: Principal, id: string): ShownCommand {
    return this.#expect(principal, id).shown(id);
  }

  /** Ends a command: with SIGTERM, or at once. Waits for that for a while. */
  async end(
    principal: Principal,
    id: string,
    how: { readonly isKill?: boolean; readonly waitMs?: number | undefined } = {},
  ): Promise<ShownCommand> {
    const command = this.#expect(principal, id);
    const { isKill = false, waitMs } = how;
    await command.end({ isKill, ...(waitMs !== undefined && { waitMs }) });
    return command.shown(id);
  }

  /** Forgets a command that has ended. */
  forget(principal: Principal, id: string): void {
    if (!this.#expect(principal, id).isOver)
      throw new FileFault("conflict", "it runs still; stop or kill it first");
    this.#commands.delete(id);
  }

  logs(principal: Principal, id: string, query: LogQuery): Iterable<LogEntry> {
    return this.#expect(principal, id).log.entries(query);
  }

  /** Follows the output of a command from its first entry after a position; ends with it. */
  follow(principal: Principal, id: string, query: LogQuery, signal: AbortSignal): AsyncGenerator<LogEntry> {
    return this.#expect(principal, id).log.follow(query, signal);
  }

  /** Writes to the standard input of a command. */
  input(principal: Principal, id: string, bytes: Uint8Array): number {
    this.#expect(principal, id).input(bytes, this.#limits.maxInputBytesPerRequest);
    return bytes.length;
  }

  /** Sets the size of the terminal of a command. */
  resize(principal: Principal, id: string, size: TerminalSize): Promise<TerminalSize> {
    return this.#expect(principal, id).resize(size);
  }

  /** Ends all commands. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#running].map((command) => command.stop()));
  }

  #expect(principal: Principal, id: string): RunningCommand {
    const command = this.#commands.get(id);
    if (command?.isOf(principal)) return command;
    throw new FileFault("not_found", `there is no command ${id}`);
  }

  /** Counts a start, so that those under way at once stay within the limit, too. */
  async #start(caller: FileCaller, request: CommandRequest): Promise<RunningCommand> {
    const { id } = caller.principal;
    const running = [...this.#running].filter((one) => one.isOf(caller.principal)).length;
    const starting = this.#starting.get(id) ?? 0;
    if (this.#isClosed || running + starting >= this.#limits.maxConcurrentProcesses)
      throw new FileFault("unavailable", "too many of your commands run; stop one, or wait");
    const release = this.#options.quotas.hold("commands", caller.principal);
    this.#starting.set(id, starting + 1);
    try {
      await this.#options.room.require(caller.principal);
      const command = await this.#decided(caller, request);
      this.#running.add(command);
      void command.ended.then(() => {
        release();
        this.#running.delete(command);
        this.#forgetPace(caller.principal);
      });
      if (this.#isClosed) await command.stop();
      return command;
    } catch (error) {
      release();
      throw error;
    } finally {
      const left = (this.#starting.get(id) ?? 1) - 1;
      if (left > 0) this.#starting.set(id, left);
      else this.#starting.delete(id);
      this.#forgetPace(caller.principal);
    }
  }

  #forgetPace(principal: Principal): void {
    const isUsed = this.#starting.has(principal.id) || [...this.#running].some((one) => one.isOf(principal));
    if (!isUsed) this.#paces.delete(principal.id);
  }

  async #decided(caller: FileCaller, request: CommandRequest): Promise<RunningCommand> {
    const { access } = this.#options;
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
      return await this.#launched(caller, request, { place, cwd, end });
    } catch (error) {
      await end("failed");
      throw startFault(error);
    }
  }

  async #launched(
    { principal }: FileCaller,
    request: CommandRequest,
    { place, cwd, end }: { readonly place: CallerPlace; readonly cwd: string; readonly end: EndAccess },
  ): Promise<RunningCommand> {
    const { environment, confinementFor, sandbox, owner, register, onError } = this.#options;
    const { command, args = [], env = {}, tty = false } = request;
    const plain: Launch = {
      ...{ command, args, cwd, label: command },
      env: { ...(await environment()), ...env },
    };
    const launch = tty ? await inTerminal(plain) : plain;
    const pace = this.#paces.get(principal.id) ?? new OutputPace();
    this.#paces.set(principal.id, pace);
    const confinement = reachesAll(principal) ? undefined : await confinementFor(principal, place);
    const confined = confinement && (await confine(launch, confinement, { ...(sandbox && { sandbox }) }));
    try {
      return await RunningCommand.start({
        ...{ principal, request, cwd, owner, register, pace, onError },
        launch: confined?.launch ?? launch,
        isConfined: confined !== undefined,
        maxLogBytes: Math.min(
          this.#limits.maxLogBytesPerProcess,
          Math.floor(LOG_BYTES / (this.list(principal).length + 1)),
        ),
        onEnd: async (exitCode) => {
          await confined?.close();
          await end(exitCode === 0 ? "completed" : "failed");
        },
      });
    } catch (error) {
      await confined?.close();
      throw error;
    }
  }
}

/** Why a command was not started, as its caller may know it. */
function startFault(error: unknown): FileFault {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof SandboxError && error.code === "unavailable")
    return new FileFault(
      "unavailable",
      `commands of callers other than admins of the server run in a sandbox alone, and were not started: ${message}`,
      { cause: error },
    );
  const isWithoutTerminals = error instanceof ProcessError && error.code === "no_terminal";
  return new FileFault(isWithoutTerminals ? "not_implemented" : "conflict", message, { cause: error });
}
