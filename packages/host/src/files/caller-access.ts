import { basename, dirname, join, resolve, sep } from "node:path";
import type { Principal } from "@reins/supervisor";
import { type CallerParts, callerScope } from "../control/caller-scope.ts";
import type { ControlPoint } from "../control/control-point.ts";
import { enforce } from "../control/enforce.ts";
import { complete, type WrittenFile } from "../control/outcome.ts";
import type { SessionFolders } from "../governor/session-folders.ts";
import { realPlace } from "../governor/text-file.ts";
import type { Hub } from "../hub/hub.ts";
import { FileFault, onPath, pathFault } from "./file-fault.ts";

export interface CallerAccessOptions extends CallerParts {
  readonly folders: Pick<SessionFolders, "callerPlace" | "outOfReach">;
  readonly hub: () => Promise<Pick<Hub, "find">>;
}

/** Who wants something, and where relative paths start. */
export interface FileCaller {
  readonly principal: Principal;
  /** The session whose folders count; by default those of the caller's tenant. */
  readonly session?: string | undefined;
  /** Aborts when the caller waits no longer. */
  readonly signal: AbortSignal;
}

/** A path of a request: as it was named, and where it really leads. */
export interface FileTarget {
  readonly path: string;
  readonly real: string;
  readonly outOfReach: string | undefined;
}

/** What is decided. */
export interface CallerAction {
  readonly caller: FileCaller;
  readonly place: CallerPlace;
  /** A `setting` is about no path. */
  readonly kind: "file_access" | "terminal" | "setting";
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly outOfReach?: string | undefined;
}

/** An access with where its paths lead, in their order. */
interface ResolvedAccess extends CallerAction {
  readonly targets: readonly FileTarget[];
}

/** The folders that a caller works in, by where they really lie. */
export interface CallerPlace {
  readonly cwd: string;
  readonly roots: readonly string[];
  /** The folders that a path has to lie in, where a session bounds it. */
  readonly within?: readonly string[];
}

/** Ends an access: takes it off the count of its principal and records how it ended, once. */
export type EndAccess = (outcome: "completed" | "failed", written?: readonly WrittenFile[]) => Promise<void>;

/** What is done to an entry itself, and not to what it leads to where it is a link. */
const ITSELF: ReadonlySet<string> = new Set(["fs/delete_entry", "fs/move"]);

/**
 * Decides what callers of the API do with files and commands. Paths are followed to where they lead, and that is what is
 * decided about.
 */
export class CallerAccess {
  readonly #options: CallerAccessOptions;

  constructor(options: CallerAccessOptions) {
    this.#options = options;
  }

  /** Finds where the paths of a request lead. */
  async resolve(
    caller: FileCaller,
    tool: string,
    given: Readonly<Record<string, string>>,
    more: Readonly<Record<string, unknown>> = {},
  ): Promise<ResolvedAccess> {
    const place = await this.placeOf(caller);
    const found = new Map<string, FileTarget>();
    for (const [name, path] of Object.entries(given))
      found.set(name, await this.target(caller, place, path, tool));
    const reals = [...found].map(([name, { real }]) => [name, real] as const);
    return {
      ...{ caller, place, kind: "file_access", tool },
      arguments: { ...Object.fromEntries(reals), ...more },
      outOfReach: [...found.values()].find(({ outOfReach }) => outOfReach !== undefined)?.outOfReach,
      targets: [...found.values()],
    };
  }

  /** The folders of a caller. */
  async placeOf({ principal, session }: FileCaller): Promise<CallerPlace> {
    const { folders, hub } = this.#options;
    if (principal.kind === "agent")
      throw new FileFault("forbidden", "this is for people and services; an agent uses its own tools");
    if (session === undefined) return folders.callerPlace(principal);
    const record = await (await hub()).find(principal, session);
    if (!record) throw new FileFault("not_found", `there is no session ${session}`);
    const roots = await Promise.all([record.cwd, ...record.additional_directories].map(realPlace));
    return { cwd: await realPlace(record.cwd), roots, within: roots };
  }

  /** Where a path leads. */
  async target(
    { principal }: FileCaller,
    { cwd, within }: CallerPlace,
    given: string,
    tool: string,
  ): Promise<FileTarget> {
    if (given === "" || given.includes("\0") || given.length > 4_096)
      throw new FileFault("invalid", "a path has from 1 to 4096 characters and no NUL");
    if (given.split(sep).includes(".."))
      throw new FileFault("invalid", `${given} leads upwards; name the path itself`);
    const path = resolve(cwd, given);
    const isItself = ITSELF.has(tool) && path !== sep;
    const real = await onPath(path, async () =>
      isItself ? join(await realPlace(dirname(path)), basename(path)) : realPlace(path),
    );
    const isDestroyed = isItself || tool === "fs/write_file";
    const outOfReach = await this.#options.folders.outOfReach(principal, { real, isDestroyed, within });
    return { path, real, outOfReach };
  }

  /**
   * Waits for the verdict on an access. Throws if it is not allowed, on the record. A part of an access that has begun
   * counts with that.
   */
  async begin(access: CallerAction, { isPart = false } = {}): Promise<EndAccess> {
    const { caller, place, kind, tool, arguments: decided, outOfReach } = access;
    const { principal, signal } = caller;
    const { quotas } = this.#options.harness;
    const release = isPart ? () => undefined : quotas.hold("file_requests", principal);
    try {
      const { cwd, roots } = place;
      const scope = callerScope(this.#options, principal, { cwd, roots, realRoots: roots });
      const point: ControlPoint =
        kind === "setting"
          ? { kind, tool, arguments: decided }
          : { kind, tool, arguments: decided, origin: "client", outOfReach };
      const enforced = await enforce(scope, point, { signal });
      if (enforced.kind !== "allowed")
        throw new FileFault("forbidden", `${tool} was not allowed: ${outOfReach ?? enforced.verdict.reason}`);
      const { entry } = enforced.verdict;
      let isOver = false;
      const end: EndAccess = async (outcome, written = []) => {
        release();
        if (isOver) return;
        isOver = true;
        await complete(scope, { tool, entry, outcome, enforcement: "performed", written });
      };
      if (!signal.aborted) return end;
      await end("failed");
      throw signal.reason;
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Does something once it is decided. */
  async perform<Result>(
    access: CallerAction,
    run: (note: (written: WrittenFile) => void) => Promise<Result>,
  ): Promise<Result> {
    const end = await this.begin(access);
    const written: WrittenFile[] = [];
    try {
      const result = await run((one) => void written.push(one));
      await end("completed", written);
      return result;
    } catch (error) {
      await end("failed", written);
      throw pathFault(String(Object.values(access.arguments)[0]), error);
    }
  }
}
