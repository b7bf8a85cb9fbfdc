/** Why a declaration is not executed. */
export type ProtocolErrorCode =
  /** No declaration can be read: broken JSON, unknown or duplicate members, wrong types. */
  | "malformed"
  /** A version that this runtime does not read. */
  | "version"
  /** More than one declaration, or one beside a direct request. */
  | "ambiguous"
  /** Actions that cannot be a graph: duplicate or unknown ids, cycles, conditions that never hold. */
  | "graph"
  /** A reference that leads nowhere, or to what may not be seen. */
  | "reference"
  /** No executor fits. */
  | "executor"
  /** More than a budget or a limit allows. */
  | "budget"
  /** The run or action that a declaration names is not in a state for it. */
  | "state"
  /** The agent may not declare anything. */
  | "forbidden";

/** A declaration that cannot be executed: what is wrong, where, and how to say it instead. Nothing of it was executed. */
export class ProtocolError extends Error {
  readonly code: ProtocolErrorCode;
  /** The member that is wrong, such as `payload.actions[2].depends_on[0]`. */
  readonly path: string;

  constructor(
    code: ProtocolErrorCode,
    message: string,
    { path = "", cause }: { path?: string; cause?: unknown } = {},
  ) {
    super(path === "" ? message : `${path}: ${message}`, { cause });
    this.name = "ProtocolError";
    this.code = code;
    this.path = path;
  }
}
