import type { FilePort } from "./files.ts";
import type { ToolTables } from "./tool/tool-table.ts";

/**
 * What the harness knows of the session an action belongs to. Keep one object per session: what follows from it
 * (where its folders really lie) is found out once.
 */
export interface FactsContext {
  /** The folders the session works in, absolute. */
  readonly roots: readonly string[];
  /** Where these really lie, if that was found out when the session was let into them. */
  readonly realRoots?: readonly string[] | undefined;
  /** Where the agent's relative paths and commands start, absolute. */
  readonly cwd: string;
  /** The agent's home, absolute: what `~` means to it. */
  readonly home: string;
  /** The folder of the harness itself (REINS_HOME), absolute. */
  readonly harness: string;
  /** The variables that the agent's commands are known to see. */
  readonly environment?: Readonly<Record<string, string>> | undefined;
  /** The session's own folders for passing files, absolute; by default what TMPDIR names in its variables. */
  readonly temporary?: readonly string[] | undefined;
  /** Whose tool table applies. */
  readonly agent: string;
  readonly tables: ToolTables;
  readonly files: FilePort;
}
