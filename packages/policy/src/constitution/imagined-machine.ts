import { posix } from "node:path";
import type { Action } from "../action.ts";
import type { FactsContext } from "../facts/facts-context.ts";
import type { FileKind, FilePort } from "../facts/files.ts";
import { gatherFacts } from "../facts/gather.ts";
import { loadToolTables, type ToolTables } from "../facts/tool/tool-table.ts";

const WORKSPACE = "/workspace";
const HOME = "/home/user";
const FOLDERS = ["/", WORKSPACE, `${WORKSPACE}/.git`, "/home", HOME, "/tmp", "/etc", "/usr"];

let tables: ToolTables | undefined;

/** A command that an example gives, and where. */
interface ImaginedCall {
  readonly tool: string;
  readonly command: string;
  readonly agent: string;
  /** Files that are there, from the workspace's folder; git keeps none of them. */
  readonly files: readonly string[];
}

/** What a command would do on a machine that has nothing but a workspace, so that it is the same on all machines. */
export async function imaginedFacts({ tool, command, agent, files }: ImaginedCall): Promise<Action> {
  tables ??= loadToolTables();
  const table =
    [agent, "claude-code", "native", ...tables.keys()].find((name) => hasTool(name, tool)) ?? agent;
  const roles = tables.get(table)?.tools[tool]?.arguments ?? {};
  const name =
    Object.keys(roles).find((one) => roles[one] === "shell" || roles[one] === "words") ?? "command";
  const context: FactsContext = {
    roots: [WORKSPACE],
    cwd: WORKSPACE,
    home: HOME,
    harness: `${HOME}/.local/share/reins`,
    environment: { HOME, TMPDIR: "/tmp/session" },
    agent: table,
    tables,
    files: imaginedFiles(files.map((file) => posix.join(WORKSPACE, file))),
  };
  const payload = { tool_name: tool, arguments: { [name]: command } };
  return gatherFacts(
    { event_type: "pre_action", session_id: "test", agent_id: agent, depth: 0, payload },
    context,
  );
}

function hasTool(table: string, tool: string): boolean {
  const known = tables?.get(table)?.tools;
  return known !== undefined && Object.hasOwn(known, tool);
}

function imaginedFiles(files: readonly string[]): FilePort {
  const kinds = new Map<string, FileKind>(FOLDERS.map((folder) => [folder, "folder"]));
  for (const file of files) {
    for (let folder = posix.dirname(file); !kinds.has(folder); folder = posix.dirname(folder))
      kinds.set(folder, "folder");
    kinds.set(file, "file");
  }
  const kindOf = (path: string) => kinds.get(posix.normalize(path).replace(/(.)\/$/, "$1"));
  const ifThere = <Value>(path: string, value: Value) =>
    Promise.resolve(kindOf(path) === undefined ? undefined : value);
  return {
    realpath: (path) => ifThere(path, posix.normalize(path).replace(/(.)\/$/, "$1")),
    lstat: (path) => Promise.resolve(kindOf(path)),
    readlink: () => Promise.resolve(undefined),
    list: (path) =>
      ifThere(
        path,
        [...kinds]
          .filter(([one]) => one !== path && posix.dirname(one) === path)
          .map(([one, kind]) => ({ name: posix.basename(one), isFolder: kind === "folder" })),
      ),
    readStart: (path) => Promise.resolve(kindOf(path) === "file" ? "" : undefined),
    bytes: (path) => Promise.resolve(kindOf(path) === "file" ? new Uint8Array() : undefined),
    slice: (path) => Promise.resolve(kindOf(path) === "file" ? new Uint8Array() : undefined),
    state: (path) => ifThere(path, { size: 0, modified: 0n }),
    linkedIdentity: () => Promise.resolve(undefined),
  };
}
