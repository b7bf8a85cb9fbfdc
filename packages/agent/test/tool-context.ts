import { type Clock, systemClock } from "@reins/kit";
import { Roots } from "../src/files/roots.ts";
import { BackgroundCommands } from "../src/tools/background-commands.ts";
import { SystemCommands } from "../src/tools/run-command.ts";
import type { Tool, ToolContext, ToolOutcome } from "../src/tools/tool.ts";

export function toolContext(cwd: string, more: Partial<ToolContext> = {}): ToolContext {
  return {
    sessionId: "session-1",
    roots: new Roots(cwd),
    services: {},
    commands: new SystemCommands(),
    background: new BackgroundCommands(),
    memory: undefined,
    clock: systemClock,
    newId: () => "id",
    signal: new AbortController().signal,
    toolCallId: "call-1",
    onWorker: async () => undefined,
    onOutput: async () => undefined,
    onSearch: async () => undefined,
    ...more,
  };
}

/** A clock whose waits are noted and take no time. */
export function hastyClock(waited: number[] = []): Clock {
  return {
    now: () => new Date(),
    after(milliseconds, run) {
      waited.push(milliseconds);
      run();
      return () => undefined;
    },
  };
}

/** Performs a tool call, as the agent does after permission. */
export async function use(tool: Tool, given: unknown, context: ToolContext): Promise<ToolOutcome> {
  const call = tool.call(given);
  await call.prepare(context);
  return call.perform(context);
}
