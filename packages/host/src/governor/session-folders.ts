import type { Stats } from "node:fs";
import { mkdir, realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { CODE, RpcError } from "@reins/acp";
import { folderIdentity } from "@reins/runner";
import { DEFAULT_TENANT, type Harness, isAdmin, isOperator, type Principal } from "@reins/supervisor";
import { refuseStart } from "../control/enforce.ts";
import { REFUSED, refusal } from "../control/outcome.ts";
import { realPlace, showsKernel } from "./text-file.ts";

/** Which folders the sessions of a home may work in. */
export interface FolderOptions {
  readonly harness: Pick<Harness, "home" | "identity" | "policies" | "supervisor">;
  /** The folder of sessions that name none, and of everybody in the default tenant who is not its admin. */
  readonly workspace?: string | undefined;
  /** The folders that the operator gave to tenants, absolute. */
  readonly tenants?: Readonly<Record<string, readonly string[]>> | undefined;
  /** The user's home, which is never a root. */
  readonly userHome?: string | undefined;
}

/** The folders of a session, as they are used. */
export interface SessionPlace {
  readonly cwd: string;
  readonly additional: readonly string[];
  /** Where they all really lie: what is put in their place later is not what was admitted. */
  readonly real: readonly string[];
  /** What each of them was, by the path it is used by: a check of a folder counts for that one alone. */
  readonly identities: Readonly<Record<string, string>>;
}

/** Who wants to work in which folders. */
export interface FolderRequest {
  readonly principal: Principal;
  /** The agent that is to work there. */
  readonly agent: string;
  /** The call that names them. */
  readonly method: string;
  readonly cwd: unknown;
  readonly additional?: unknown;
  /** Whether the operating system keeps the agent from Reins's own files. */
  readonly isConfined: boolean;
  /** Where the folders of the session that begins this one really lie: a child works in no others. */
  readonly above?: readonly string[] | undefined;
  /** The worktree that Reins made for a child out of a folder of the session that begins it. */
  readonly worktree?: string | undefined;
}

/** A folder that was looked at: where it is, or why it is no root. */
interface Found {
  readonly path: string;
  readonly real?: string;
  readonly identity?: string;
  readonly fault?: string;
  /** The code of the answer that says so. */
  readonly code?: number;
}

/** What the kernel and the system keep there: processes with their memory and variables, devices, sockets. */
const SYSTEM_FOLDERS = ["/proc", "/sys", "/dev", "/run"] as const;

/**
 * The one rule for the folders of sessions, whatever dialect names them: each lies, by where it really is, under a folder
 * that its tenant was given. The operator and the admins of the default tenant may name any. What the system keeps for
 * itself, the user's home and Reins's own are never roots.
 */
export class SessionFolders {
  readonly #options: FolderOptions;

  constructor(options: FolderOptions) {
    this.#options = options;
  }

  /** The folder of a session that names none. */
  async defaultFor(principal: Principal): Promise<string> {
    const { workspace } = this.#options;
    if (workspace !== undefined && principal.tenant === DEFAULT_TENANT) return workspace;
    const [first] = await this.#given(principal.tenant);
    if (first !== undefined) return first;
    throw new RpcError(CODE.invalidParams, `the tenant ${principal.tenant} was given no folder to work in`);
  }

  /** The folders of a session as they are used; refused, on the record, where one of them may not be a root. */
  async admit(request: FolderRequest): Promise<SessionPlace> {
    const { cwd, principal } = request;
    const additional: unknown = request.additional ?? [];
    if (!isAbsolute(cwd) || !Array.isArray(additional) || !additional.every(isAbsolute))
      throw new RpcError(CODE.invalidParams, "cwd and additionalDirectories are absolute paths");
    const allowed = reachesAll(principal) ? undefined : await this.#realRoots(principal.tenant);
    const resolved: string[] = [];
    const real: string[] = [];
    const identities: Record<string, string> = {};
    for (const folder of [cwd, ...additional]) {
      const found = await this.#find(folder, request, allowed);
      if (found.fault !== undefined) throw await this.#refuse(request, found);
      resolved.push(found.path);
      real.push(found.real ?? found.path);
      if (found.identity !== undefined) identities[found.path] = found.identity;
    }
    const [own = cwd, ...more] = resolved;
    return { cwd: own, additional: more, real, identities };
  }

  /**
   * Why Reins reads nothing at a path for a principal: it is in no folder of the tenant, nor in the worktree that Reins made
   * for the session. `undefined` where it is.
   * @param real followed to its end
   */
  async beyond(principal: Principal, real: string, worktree?: string): Promise<string | undefined> {
    if (reachesAll(principal) || (worktree !== undefined && holds(worktree, real))) return undefined;
    if ((await this.#realRoots(principal.tenant)).some((root) => holds(root, real))) return undefined;
    return `it is not in a folder that the tenant ${principal.tenant} was given`;
  }

  /** The folders that a caller of the API works in, by where they really lie; relative paths start in the first. */
  async callerPlace(
    principal: Principal,
  ): Promise<{ readonly cwd: string; readonly roots: readonly string[] }> {
    const { tenant } = principal;
    const roots = await this.#rootsIn([await this.defaultFor(principal), ...(await this.#given(tenant))]);
    const [cwd] = roots;
    if (cwd !== undefined) return { cwd, roots: [...new Set(roots)] };
    throw new RpcError(CODE.notFound, `no folder of the tenant ${principal.tenant} is there`);
  }

  /**
   * Why a file is out of a caller's reach: it lies in no folder of the tenant, or belongs to Reins or the system.
   * `undefined` where it does not. A folder that holds such files may not be destroyed, and neither may a tenant's own.
   */
  async outOfReach(
    principal: Principal,
    {
      real,
      isDestroyed,
      within,
    }: {
      readonly real: string;
      readonly isDestroyed: boolean;
      readonly within?: readonly string[] | undefined;
    },
  ): Promise<string | undefined> {
    const beyond = await this.beyond(principal, real);
    if (beyond !== undefined) return beyond;
    if (within && !within.some((root) => holds(root, real))) return "it is not in a folder of the session";
    const look = onceEach();
    const [home = this.#options.harness.home] = await realAll([this.#options.harness.home]);
    if (await lies(real, home, look)) return "it belongs to Reins itself";
    if (await isSystem(real, look)) return "it belongs to the system, which keeps its state there";
    if (!isDestroyed) return undefined;
    const kept = [home, ...(await this.#realRoots(principal.tenant)), ...(within ?? []), ...SYSTEM_FOLDERS];
    return kept.some((folder) => holds(real, folder)) ? "it holds a folder that has to stay" : undefined;
  }

  /** Where a folder is, or why it is no root. */
  async #find(
    folder: string,
    { principal, isConfined, above, worktree }: FolderRequest,
    allowed: readonly string[] | undefined,
  ): Promise<Found> {
    const refused = (fault: string, code = REFUSED) => ({ path: folder, fault, code });
    const real = await realpath(folder).catch(() => undefined);
    // Also for missing paths, so that the response does not reveal what is in other tenants' folders.
    const place = real ?? (await realPlace(folder));
    const isMade = worktree !== undefined && holds(worktree, place);
    if (allowed && !isMade && !allowed.some((root) => holds(root, place)))
      return refused(
        `${folder} is not in a folder that the tenant ${principal.tenant} was given, which are ${allowed.join(", ") || "none"}`,
      );
    if (above && !above.some((root) => holds(root, place)))
      return refused(
        `${folder} is not in a folder of the session that begins this one, which are ${above.join(", ")}`,
      );
    const system = await this.#kept(place, isConfined);
    if (system !== undefined) return refused(`${folder} ${system}`);
    if (real === undefined) return refused(`there is no folder ${folder}`, CODE.invalidParams);
    if (!(await stat(real)).isDirectory()) return refused(`${folder} is not a folder`, CODE.invalidParams);
    const identity = await folderIdentity(real);
    if (identity === undefined)
      return refused(`${folder} was replaced while it was checked`, CODE.invalidParams);
    // A link in a folder of a tenant could lead elsewhere later.
    return { path: allowed || above ? real : resolve(folder), real, identity };
  }

  /** Why a folder is never a root. */
  async #kept(real: string, isConfined: boolean): Promise<string | undefined> {
    const { harness, userHome = homedir() } = this.#options;
    const look = onceEach();
    const [home = harness.home] = await realAll([harness.home]);
    if ((!isConfined && (await lies(home, real, look))) || home === real)
      return "holds the files of Reins itself; work in a folder that does not";
    if (await lies(real, home, look))
      return "lies in the files of Reins itself; work in a folder that does not";
    for (const own of await realAll([...new Set([userHome, homedir()])]))
      if (await lies(own, real, look)) return "holds the user's whole home; work in a folder in it";
    if (real === sep) return "is the whole machine; work in a folder in it";
    if (await isSystem(real, look))
      return "belongs to the system, which keeps the state of processes and devices there";
    return undefined;
  }

  /** The folders of a tenant as the operator gave them; without any, one that is made for it beside Reins's home. */
  async #given(tenant: string): Promise<readonly string[]> {
    const { harness, workspace, tenants = {} } = this.#options;
    const given = Object.hasOwn(tenants, tenant) ? (tenants[tenant] ?? []) : undefined;
    const own = tenant === DEFAULT_TENANT && workspace !== undefined ? [workspace] : [];
    if (given !== undefined || own.length > 0) return [...own, ...(given ?? [])];
    const home = await realpath(harness.home);
    const made = join(dirname(home), `${basename(home)}-workspaces`, tenant);
    await mkdir(made, { recursive: true, mode: 0o700 });
    return [made];
  }

  async #realRoots(tenant: string): Promise<readonly string[]> {
    return this.#rootsIn(await this.#given(tenant));
  }

  /**
   * Where given folders really lie. One that lies in another that was given is not followed out of that: a program that
   * works there can put a link in its place.
   */
  async #rootsIn(given: readonly string[]): Promise<readonly string[]> {
    const { workspace = [], tenants = {} } = this.#options;
    const all = new Set([...given, ...Object.values(tenants).flat()].concat(workspace));
    const places = (await Promise.all([...all].map(placeOf))).flatMap((place) => place ?? []);
    const isKept = ({ path, at, real }: Place) =>
      places.every(
        (other) =>
          other.path === path ||
          holds(other.real, real) ||
          ![path, at].some((name) => holds(other.path, name) || holds(other.real, name)),
      );
    const roots = [...new Set(given)].map((folder) => places.find(({ path }) => path === folder));
    return roots.flatMap((place) => (place && isKept(place) ? [place.real] : []));
  }

  /** Records that a session was refused, and returns the error. */
  async #refuse(
    { principal, agent, method, cwd, additional }: FolderRequest,
    { fault: reason = "", code }: Found,
  ): Promise<RpcError> {
    const { harness } = this.#options;
    const given = { cwd, ...(additional !== undefined && { additional_directories: additional }) };
    const workspace = { cwd: harness.home, roots: [], tools: "acp" };
    const verdict = await refuseStart(
      { harness, principal, entry: { id: agent }, workspace },
      { kind: "session_start", tool: method, arguments: given, origin: "agent", outOfReach: reason },
    );
    const { message, data } = await refusal(method, { ...verdict, verdict: "blocked", reason });
    return new RpcError(code ?? REFUSED, message, data);
  }
}

/** Whether a principal may work in any folder: the operator, and admins of the default tenant. */
export function reachesAll(principal: Principal): boolean {
  return isOperator(principal) || (isAdmin(principal) && principal.tenant === DEFAULT_TENANT);
}

function isAbsolute(path: unknown): path is string {
  return typeof path === "string" && path.startsWith("/") && !path.includes("\0");
}

/** Whether a path is a folder or lies in it, by their names. */
export function holds(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`));
}

/** What is at a path; nothing where that cannot be read. */
type Look = (path: string) => Promise<Stats | undefined>;

/** Looks at each path once, for the checks of one folder: all of them see the same. */
function onceEach(): Look {
  const seen = new Map<string, Promise<Stats | undefined>>();
  return (path) => {
    const found = seen.get(path) ?? stat(path).catch(() => undefined);
    seen.set(path, found);
    return found;
  };
}

/** Whether a path is a folder or lies in it, also where the same folder is mounted under another name. */
async function lies(path: string, folder: string, look: Look): Promise<boolean> {
  if (holds(folder, path)) return true;
  const wanted = await look(folder);
  if (!wanted) return false;
  for (let at = path; ; at = dirname(at)) {
    const found = await look(at);
    if (found && found.dev === wanted.dev && found.ino === wanted.ino) return true;
    if (at === dirname(at)) return false;
  }
}

/** Whether a folder is one of those that the system keeps for itself, under any name. */
async function isSystem(real: string, look: Look): Promise<boolean> {
  const [root, found] = await Promise.all([look(sep), look(real)]);
  for (const folder of SYSTEM_FOLDERS) {
    if (await lies(real, folder, look)) return true;
    const own = await look(folder);
    if (found && own && own.dev !== root?.dev && own.dev === found.dev) return true;
  }
  return showsKernel(real);
}

/** A folder as it was given, where its name really lies, and where it leads. */
interface Place {
  readonly path: string;
  readonly at: string;
  readonly real: string;
}

async function placeOf(path: string): Promise<Place | undefined> {
  const places = [path, dirname(path)].map((one) => realpath(one).catch(() => undefined));
  const [real, parent] = await Promise.all(places);
  return real === undefined || parent === undefined
    ? undefined
    : { path, at: join(parent, basename(path)), real };
}

async function realAll(folders: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(folders.map((folder) => realpath(folder).catch(() => undefined)));
  return found.filter((folder) => folder !== undefined);
}
