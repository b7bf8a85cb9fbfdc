import { randomUUID } from "node:crypto";
import { membersOf } from "@reins/acp";
import {
  allTools,
  type CommandRunner,
  type HostServices,
  Roots,
  type Tool,
  type ToolContext,
} from "@reins/agent";
import { systemClock } from "@reins/kit";
import type { Workspace } from "@reins/supervisor";
import { agentOf } from "../control/control-point.ts";
import { isAllowedUnasked } from "../control/enforce.ts";
import { userMemory } from "../native/advisers.ts";
import { messagingTools } from "../native/start-native.ts";
import type { FileSnapshots } from "../rewind/file-snapshots.ts";
import type { TenantMessaging } from "../turn/messaging.ts";
import type { RunExecutor } from "./executor.ts";
import type { RunPlace } from "./run-place.ts";

/** What native tools are good for, by their names. */
const CAPABILITIES: Readonly<Record<string, readonly string[]>> = {
  read_file: ["filesystem", "filesystem.read", "read"],
  list_files: ["filesystem", "filesystem.list", "filesystem.search", "search", "read"],
  search: ["filesystem", "filesystem.search", "search", "read"],
  write_file: ["filesystem", "filesystem.write", "write", "edit"],
  edit_file: ["filesystem", "filesystem.write", "filesystem.edit", "write", "edit"],
  delete_file: ["filesystem", "filesystem.delete", "delete"],
  run_command: ["shell", "execute", "testing", "run_tests", "build"],
  send_message: ["messaging", "messaging.send"],
  read_mailbox: ["messaging", "messaging.read"],
  read_board: ["messaging", "board.read"],
  post_board: ["messaging", "board.post"],
  remember: ["memory", "memory.write"],
};

/** Writing the same text twice leaves what writing it once does. */
const IDEMPOTENT: ReadonlySet<string> = new Set(["write_file"]);

/** Names that models use for tools of other harnesses, which mean the same here. */
const OTHER_NAMES: Readonly<
  Record<string, { readonly tool: string; readonly members?: Readonly<Record<string, string>> }>
> = {
  read: { tool: "read_file", members: { filePath: "path", file_path: "path" } },
  glob: { tool: "list_files" },
  grep: { tool: "search", members: { pattern: "query" } },
  write: { tool: "write_file", members: { filePath: "path", file_path: "path" } },
  bash: { tool: "run_command" },
};

/** The tool that a name means, and the input under the names of that tool. */
export function meantTool(
  name: string,
  input: Readonly<Record<string, unknown>> | undefined,
): { readonly tool: string; readonly input: Readonly<Record<string, unknown>> | undefined } {
  const meant = Object.hasOwn(OTHER_NAMES, name) ? OTHER_NAMES[name] : undefined;
  if (!meant) return { tool: name, input };
  const { tool, members = {} } = meant;
  const nameOf = (member: string) => (Object.hasOwn(members, member) ? members[member] : member);
  const renamed = Object.entries(input ?? {}).map(([member, value]) => [nameOf(member), value]);
  return { tool, input: input && Object.fromEntries(renamed) };
}

export interface ToolExecutorsOptions {
  readonly place: RunPlace;
  readonly messaging: TenantMessaging | undefined;
  /** Keeps what files were before actions change them; absent where nothing is performed. */
  readonly snapshots: Pick<FileSnapshots, "change"> | undefined;
  /** Runs commands as those of the session's agent are run. */
  readonly commands: CommandRunner;
}

/** Folders are resolved once for each run: one that replaces them later is outside. */
const roots = new WeakMap<Workspace, Roots>();

/** What tools are performed with, but for the signal of a call. */
export type SharedToolContext = Omit<ToolContext, "signal">;

/** What the tools of a run are performed with. */
export function toolContextOf(options: ToolExecutorsOptions): SharedToolContext {
  const { place, messaging, snapshots } = options;
  // A dry run is enough: it only takes files away from a search that was decided.
  const mayRead = (_: string, path: string) =>
    isAllowedUnasked(place, { tool_name: "read_file", arguments: { path } });
  const services: HostServices = {
    nameOf: (id) => id,
    mayRead,
    ...(messaging && messagingTools(messaging, () => agentOf(place))),
    ...(snapshots && { snapshots: snapshotsOf(place, snapshots) }),
  };
  const memory = userMemory(place.context.harness, place.principal);
  const { cwd, roots: all } = place.workspace;
  const known = roots.get(place.workspace) ?? new Roots(cwd, all.slice(1));
  roots.set(place.workspace, known);
  return {
    ...{ sessionId: place.id, roots: known, services, memory, commands: options.commands },
    clock: { ...systemClock, now: place.context.now },
    newId: randomUUID,
    toolCallId: "",
    ...(snapshots && { turn: place.kept().turn }),
    onWorker: async () => undefined,
    onOutput: async () => undefined,
    onSearch: async () => undefined,
  };
}

/** Keeps what files were with the turn that is under way when an action changes them. */
function snapshotsOf(
  place: RunPlace,
  snapshots: Pick<FileSnapshots, "change">,
): NonNullable<HostServices["snapshots"]> {
  return {
    change: (_session, _turn, change, run) => {
      const { session, turn } = place.kept();
      return snapshots.change({ tenant: place.session.record.tenant, session }, turn, change, run);
    },
  };
}

/** Tools for what a run has not, commands that go on beside it, and for what it has an executor of its own. */
const OF_SESSIONS: ReadonlySet<string> = new Set(["read_command", "stop_command", "ask_person"]);

/** The tools of the native agent, which Reins performs itself. */
export function toolExecutors(context: SharedToolContext): readonly RunExecutor[] {
  return allTools(context.services, context.memory)
    .filter(({ name, isInner }) => !isInner && !OF_SESSIONS.has(name))
    .map((tool) => executorOf(tool, context));
}

function executorOf(tool: Tool, context: SharedToolContext): RunExecutor {
  const { name, description, isReadOnly, kind } = tool;
  // What it does not know it leaves out.
  const { additionalProperties: _, ...parameters } = tool.parameters;
  return {
    ...{ name, type: "tool", description, isReadOnly, capabilities: CAPABILITIES[name] ?? [kind] },
    input: parameters,
    isIdempotent: isReadOnly || IDEMPOTENT.has(name),
    bindsWrites: true,
    check: (input) => void tool.call(input),
    async plan({ input = {} }) {
      const call = tool.call(input);
      const { signal } = new AbortController();
      const { content, locations } = await call.prepare({ ...context, signal });
      return {
        ...{ tool: name, arguments: input, tools: "agent", kind, title: call.title },
        ...(content && { content }),
        ...(locations && { locations }),
        async perform(given, running) {
          const allowed = given === input ? call : tool.call(membersOf(given));
          const outcome = await allowed.perform({ ...context, signal: running });
          return { output: outcome.text, isError: outcome.isError ?? false };
        },
      };
    },
  };
}
