import { realpath, stat } from "node:fs/promises";
import { isAbsolute, resolve } from "node:path";
import type { OpenedFile } from "@reins/agent";
import { LruCache } from "@reins/kit";
import { type FilePort, type Harness, realFiles } from "@reins/supervisor";
import { agentOf, type ControlRequest, requestFor, traitsOf, type UnattendedPoint } from "./control-point.ts";
import { decideUnasked, enforce, isForeseen } from "./enforce.ts";
import type { AskableScope } from "./scope.ts";

/** What was decided, and why. */
export interface Ruling {
  readonly isAllowed: boolean;
  readonly reason: string;
  /** For a deferred verdict: its content id, once it is written; `undefined` when it cannot be. */
  readonly written?: Promise<string | undefined> | undefined;
}

/** What a verdict that stands is found by; `about` is the state of what it is about. */
interface Asked {
  readonly tenant: string;
  readonly agent: string;
  readonly session: string;
  readonly event_type: string;
  readonly about: string;
}

/** How many verdicts stand at a time. */
const MOST_STANDING = 10_000;

/**
 * Verdicts that stand in a session, so that a question that every turn repeats is on record once. A verdict stands while
 * the policy is the same, what it is about has not changed, and a dry run says the same; otherwise it is decided again.
 */
export class StandingVerdicts {
  readonly #harness: Pick<Harness, "supervisor" | "policies">;
  readonly #held = new LruCache<string, { readonly policy: unknown; readonly ruling: Promise<Ruling> }>({
    entries: MOST_STANDING,
  });

  constructor(harness: Pick<Harness, "supervisor" | "policies">) {
    this.#harness = harness;
  }

  /** Enforces a point of a session; `about` is the state of what it is about. */
  async enforce(scope: AskableScope, point: UnattendedPoint, about: string): Promise<Ruling> {
    const { context, id: session } = scope;
    const { event_type } = traitsOf(point);
    const asked = { tenant: context.principal.tenant, agent: agentOf(scope), session, event_type, about };
    const ruling = await this.#hold(
      asked,
      () => requestFor(scope, point),
      async () => {
        const { kind, verdict } = await enforce(scope, point);
        const { reason, written } = verdict;
        return kind === "allowed" ? { isAllowed: true, reason, written } : { isAllowed: false, reason };
      },
    );
    // It may have been decided in another turn, and may not be written yet.
    if (ruling.written) scope.turn?.defer(ruling.written);
    return ruling;
  }

  /** Decides a request of an agent that has no session in the host. */
  decide(request: ControlRequest, about: string): Promise<Ruling> {
    const { tenant, agent, session } = request.subject;
    const asked = { tenant, agent, session, event_type: request.event.event_type, about };
    return this.#hold(
      asked,
      () => request,
      async () => {
        const { supervisor } = this.#harness;
        const { verdict, reason, entry } = await decideUnasked(this.#harness, request);
        if (verdict !== "allowed") return { isAllowed: false, reason };
        await supervisor.settle(request.subject, { event_type: request.event.event_type, entry });
        return { isAllowed: true, reason };
      },
    );
  }

  async #hold(
    { tenant, agent, session, event_type, about }: Asked,
    request: () => ControlRequest,
    decide: () => Promise<Ruling>,
  ): Promise<Ruling> {
    const policy = this.#harness.policies.inForce.get(tenant);
    const key = JSON.stringify([tenant, agent, session, event_type, about]);
    const held = this.#held.get(key);
    if (held?.policy === policy && held !== undefined) {
      const ruling = await held.ruling;
      if (ruling.isAllowed === (await isForeseen(this.#harness, request()))) return ruling;
    }
    const ruling = decide();
    this.#held.set(key, { policy, ruling });
    this.#forgetUnwritten(key, ruling).catch(() => this.#held.delete(key));
    return ruling;
  }

  /** Forgets a verdict that could not be written. */
  async #forgetUnwritten(key: string, deciding: Promise<Ruling>): Promise<void> {
    const { written } = await deciding;
    if (written && (await written) === undefined) this.#held.delete(key);
  }
}

/** A file as it was looked at for a decision. */
export interface SeenFile {
  /** Changes when it is written or replaced, or when its path leads elsewhere. */
  readonly state: string;
  /** The file system with this file as it was seen; absent where the decision has to look itself. */
  readonly files?: FilePort;
}

/**
 * Looks at a file for a decision about reading it, which then need not look again. One that is open is known by its
 * descriptor: what is decided is what is read, whatever its path leads to meanwhile.
 */
export async function seeFile(cwd: string, path: string, opened?: OpenedFile): Promise<SeenFile> {
  const named = resolve(cwd, path);
  try {
    const [real, found] = opened
      ? [opened.path, opened.state]
      : await Promise.all([realpath(named), stat(named)]);
    const { dev, ino, size, mtimeMs, ctimeMs } = found;
    const state = JSON.stringify([named, real, dev, ino, size, mtimeMs, ctimeMs]);
    // `..` after a link leads elsewhere than its spelling says.
    const isSame = opened ? opened.isCertain : !path.split("/").includes("..");
    if (!isSame) return { state };
    const identity = found.isFile() && found.nlink > 1 ? `${dev}:${ino}` : undefined;
    return { state, files: filesWith(isAbsolute(path) ? path : `${cwd}/${path}`, real, identity) };
  } catch {
    return { state: JSON.stringify([named]) };
  }
}

/** The file system with one path that has been followed already. */
function filesWith(path: string, real: string, identity: string | undefined): FilePort {
  return {
    ...realFiles,
    realpath: async (asked) => (asked === path ? real : realFiles.realpath(asked)),
    linkedIdentity: async (asked) => (asked === real ? identity : realFiles.linkedIdentity(asked)),
  };
}
