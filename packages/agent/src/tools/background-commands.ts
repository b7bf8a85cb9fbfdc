import { errorMessage, settlesWithin } from "@reins/kit";
import { z } from "zod";
import type { CommandRun, CommandRunner } from "./run-command.ts";
import { OutputBuffer, type ProgramEnd } from "./run-program.ts";
import { defineTool, type ToolContext, ToolError } from "./tool.ts";

/** How many commands of a session run in the background at once, and how many that have ended are remembered. */
const MOST_RUNNING = 8;
const MOST_ENDED = 16;
const KEPT_BYTES = 12 * 1024;
/** How long a start is watched, so that one that fails at once is reported as failed. */
const FIRST_LOOK_MS = 1_000;

interface BackgroundCommand {
  readonly command: string;
  readonly output: OutputBuffer;
  readonly controller: AbortController;
  /** Settles when it has ended; never rejects. */
  readonly ended: Promise<void>;
  /** How it ended, once it has. */
  how: string | undefined;
}

/** The commands of a session that run beside its turns. They end with the session. */
export class BackgroundCommands {
  readonly #commands = new Map<string, BackgroundCommand>();
  #started = 0;
  #isClosed = false;

  /** Starts a command; gives what is to be said of it after a moment. */
  async start(run: CommandRun, runner: CommandRunner, turn: AbortSignal): Promise<string> {
    turn.throwIfAborted();
    if (this.#isClosed) throw new ToolError("failed", "the session is being closed");
    if (this.#running.length >= MOST_RUNNING)
      throw new ToolError("failed", `${MOST_RUNNING} commands run in the background already; stop one first`);
    this.#started += 1;
    const id = `command_${this.#started}`;
    const controller = new AbortController();
    const output = new OutputBuffer(KEPT_BYTES, KEPT_BYTES);
    const ended = runner.run({ ...run, onOutput: (piece) => output.add(piece) }, controller.signal).then(
      (end) => {
        started.how = howOf(end);
      },
      (error: unknown) => {
        started.how = controller.signal.aborted ? "was stopped" : `failed: ${errorMessage(error)}`;
      },
    );
    const started: BackgroundCommand = { command: run.command, output, controller, ended, how: undefined };
    this.#commands.set(id, started);
    this.#forget();
    await settlesWithin(ended, FIRST_LOOK_MS);
    return this.read(id);
  }

  /** What a command has written, and whether it runs. */
  read(id: string): string {
    const { command, how, output } = this.#expect(id);
    return `${id} (${command.slice(0, 200)}) ${how ?? "runs"}\n${output.text}`.trimEnd();
  }

  /** Ends a command and all that it started. */
  async stop(id: string): Promise<string> {
    const { controller, ended } = this.#expect(id);
    controller.abort(new Error("it was stopped"));
    await ended;
    return this.read(id);
  }

  /** Ends all of them. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const running = this.#running;
    for (const { controller } of running) controller.abort(new Error("the session is over"));
    await Promise.all(running.map(({ ended }) => ended));
  }

  get #running(): readonly BackgroundCommand[] {
    return [...this.#commands.values()].filter(({ how }) => how === undefined);
  }

  #expect(id: string): BackgroundCommand {
    const found = this.#commands.get(id);
    if (found) return found;
    const known = [...this.#commands.keys()].join(", ");
    throw new ToolError(
      "failed",
      `there is no ${id.slice(0, 100)}; there ${known === "" ? "is none" : `are ${known}`}`,
    );
  }

  #forget(): void {
    const ended = [...this.#commands].filter(([, { how }]) => how !== undefined);
    for (const [id] of ended.slice(0, Math.max(0, ended.length - MOST_ENDED))) this.#commands.delete(id);
  }
}

function howOf({ exitCode, signal, timedOut }: ProgramEnd): string {
  if (timedOut) return "ended, because its time was over";
  return exitCode === null ? `ended by ${signal ?? "a signal"}` : `ended with exit code ${exitCode}`;
}

/** The commands in the background of a call's session. */
export function backgroundOf({ background }: Pick<ToolContext, "background">): BackgroundCommands {
  if (background) return background;
  throw new ToolError("failed", "no command runs in the background here");
}

const Named = z.strictObject({
  id: z.string().min(1).describe("The command, as it was named when it began"),
});

/** Shows a command in the background. */
export const readCommand = defineTool({
  name: "read_command",
  description: "Shows what a command in the background has written, and whether it still runs.",
  kind: "read",
  isReadOnly: true,
  arguments: Named,
  title: ({ id }) => `Look at ${id}`,
  perform: async ({ id }, context) => ({ text: backgroundOf(context).read(id) }),
});

/** Ends a command in the background. */
export const stopCommand = defineTool({
  name: "stop_command",
  description: "Ends a command in the background, with all that it started.",
  kind: "execute",
  arguments: Named,
  title: ({ id }) => `Stop ${id}`,
  perform: async ({ id }, context) => ({ text: await backgroundOf(context).stop(id) }),
});
