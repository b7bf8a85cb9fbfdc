import { realpath, stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { OpenedFile } from "@reins/agent";
import { LruCache } from "@reins/kit";
import type { Harness } from "@reins/supervisor";
import { type ControlRequest, requestFor, type UnattendedPoint } from "./control-point.ts";
import { decideUnasked, enforce, isForeseen } from "./enforce.ts";
import type { AskableScope } from "./scope.ts";

/** What was decided, and why. */
export interface Ruling {
  readonly isAllowed: boolean;
  readonly reason: string;
  /** For a deferred verdict: its content id, once it is written; `undefined` when it cannot be. */
  readonly written?: Promise<string | undefined> | undefined;
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
    const ruling = await this.#hold(requestFor(scope, point), about, async () => {
      const { kind, verdict } = await enforce(scope, point);
      const { reason, written } = verdict;
      return kind === "allowed" ? { isAllowed: true, reason, written } : { isAllowed: false, reason };
    });
    // It may have been decided in another turn, and may not be written yet.
    if (ruling.written) scope.turn?.defer(ruling.written);
    return ruling;
  }

  /** Decides a request of an agent that has no session in the host. */
  decide(request: ControlRequest, about: string): Promise<Ruling> {
    return this.#hold(request, about, async () => {
      const { supervisor } = this.#harness;
      const { verdict, reason, entry } = await decideUnasked(this.#harness, request);
      if (verdict !== "allowed") return { isAllowed: false, reason };
      await supervisor.settle(request.subject, { event_type: request.event.event_type, entry });
      return { isAllowed: true, reason };
    });
  }

  async #hold(request: ControlRequest, about: string, decide: () => Promise<Ruling>): Promise<Ruling> {
    const { event, subject } = request;
    const policy = this.#harness.policies.inForce.get(subject.tenant);
    const key = JSON.stringify([subject.tenant, subject.agent, subject.session, event.event_type, about]);
    const held = this.#held.get(key);
    if (held?.policy === policy && held !== undefined) {
      const ruling = await held.ruling;
      if (ruling.isAllowed === (await isForeseen(this.#harness, request))) return ruling;
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

/** The state of a file, by itself where it is open: where it really lies, and what changes when it is written or replaced. */
export async function fileState(cwd: string, path: string, opened?: OpenedFile): Promise<string> {
  const named = resolve(cwd, path);
  try {
    const [real, { dev, ino, size, mtimeMs, ctimeMs }] = opened
      ? [opened.path, opened.state]
      : await Promise.all([realpath(named), stat(named)]);
    return JSON.stringify([named, real, dev, ino, size, mtimeMs, ctimeMs]);
  } catch {
    return JSON.stringify([named]);
  }
}
