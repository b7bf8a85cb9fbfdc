import { deepStrictEqual } from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ApprovalChange } from "../../src/approvals/approval.ts";
import type { GivenAnswer } from "../../src/approvals/approvals.ts";
import type { ApprovalRequest } from "../../src/approvals/request.ts";
import type { Agreement } from "../../test/approvals/agreement.ts";
import { Ear } from "./ear.ts";
import { CALM, type Plan } from "./plan.ts";
import { ApprovalProcess, Died, Refused } from "./process.ts";
import type { Acted, Answers, Call, CallOf } from "./protocol.ts";

/** One life of the process, and what it said to its subscribers. */
interface Life {
  readonly process: ApprovalProcess;
  readonly since: number;
}

/** A home, across all the lives of the process that serves it. */
export class World {
  /** Whose approvals the run that is under way is about. */
  tenant = "";
  kills = 0;
  readonly #folder: string;
  readonly #cache: string;
  readonly #ear: Ear;
  readonly #lives: Life[] = [];
  #process: ApprovalProcess | undefined;
  #reviving: Promise<ApprovalProcess> | undefined;
  #plan = CALM;
  #again: number[] = [];
  #calls = 0;
  #ahead = 0;
  /** What was acknowledged in this run: it may never be lost. */
  #asked = new Set<string>();
  #answered: { id: string; by: string; decision: string }[] = [];
  #used: string[] = [];

  private constructor(folder: string, cache: string, ear: Ear) {
    this.#folder = folder;
    this.#cache = cache;
    this.#ear = ear;
  }

  /** A new home. The first life ends in peace and leaves what it compiled to the others. */
  static async make(cache: string): Promise<World> {
    const world = new World(await mkdtemp(join(tmpdir(), "approvals-torture-")), cache, await Ear.start());
    const first = await world.#alive();
    await first.leave();
    return world;
  }

  /** Begins a run with nothing acknowledged yet. */
  async begin(tenant: string, plan: Plan): Promise<void> {
    this.#plan = CALM;
    const process = await this.#alive();
    this.tenant = tenant;
    this.#asked = new Set();
    this.#answered = [];
    this.#used = [];
    this.#calls = 0;
    this.#plan = plan;
    this.#again = [...plan.again];
    // What is still being sent to webhooks may reach the boundary before the answer gets here.
    if (plan.boundary > 0) await this.#arm(process, plan.boundary);
  }

  /** Ends a run: kills no more, and holds what is there against everything that was acknowledged. */
  async end(): Promise<void> {
    this.#plan = CALM;
    this.#again = [];
    const process = await this.#alive();
    await this.#arm(process, 0);
    const { approvals } = await this.check();
    const rows = new Map(approvals.map((approval) => [approval.id, approval]));
    for (const id of this.#asked) if (!rows.has(id)) throw new Error(`the approval ${id} was lost`);
    for (const { id, by, decision } of this.#answered) {
      const kept = rows.get(id)?.answers.filter((answer) => answer.by === by) ?? [];
      deepStrictEqual(
        kept.map((answer) => answer.decision),
        [decision],
        `the answer of ${by} to ${id} was lost, or counts twice`,
      );
    }
    deepStrictEqual(new Set(this.#used).size, this.#used.length, "a yes was used twice");
    for (const id of this.#used) deepStrictEqual(rows.get(id)?.state, "used", `the use of ${id} was lost`);
  }

  /** Asks once; rejects with {@link Died} when the process dies first. */
  async call<Kind extends Call["do"]>(call: CallOf<Kind> & { do: Kind }): Promise<Answers[Kind]> {
    const process = await this.#alive();
    this.#calls += 1;
    const around = this.#plan.calls.get(this.#calls);
    if (around === "before") await process.kill();
    const answer = process.call<Kind>(call);
    if (typeof around === "object") setTimeout(() => void process.kill(), around.during);
    try {
      const value = await answer;
      // One that was to die in the middle and was quicker dies now.
      if (around !== undefined) await process.kill();
      return value;
    } catch (error) {
      this.#expectDeath(error);
      throw error;
    }
  }

  /** An action comes. What was allowed is noted as used. */
  async act(request: ApprovalRequest): Promise<Acted> {
    const acted = await this.call({ do: "act", request });
    if (acted.approval !== undefined) this.#asked.add(acted.approval);
    if (acted.outcome === "allowed" && acted.approval !== undefined) this.#used.push(acted.approval);
    return acted;
  }

  /** A person answers; gives why not. An answer that was taken is noted. */
  async answer(id: string, answer: GivenAnswer): Promise<string> {
    try {
      await this.call({ do: "answer", id, answer });
      this.#answered.push({ id, by: answer.by, decision: answer.decision });
      return "ok";
    } catch (error) {
      if (error instanceof Refused) return error.code;
      throw error;
    }
  }

  /** Time passes, whether or not the process lives to see it. */
  async advance(milliseconds: number): Promise<void> {
    this.#ahead += milliseconds;
    const process = this.#process;
    await process?.call({ do: "advance", milliseconds }).catch((error: unknown) => this.#expectDeath(error));
  }

  /** Holds ledger, rows and events of this run against each other. */
  async check(): Promise<Agreement> {
    for (;;) {
      try {
        const process = await this.#alive();
        return await process.call({ do: "check", tenant: this.tenant });
      } catch (error) {
        this.#expectDeath(error);
      }
    }
  }

  /** How many boundaries the process has passed. */
  async passed(): Promise<number> {
    const process = await this.#alive();
    return process.call({ do: "passed" });
  }

  /** Ends the home: what subscribers and webhooks received in all its lives is what was committed. */
  async finish(): Promise<readonly number[]> {
    const process = await this.#alive();
    const changes = await process.call({ do: "drain" });
    while ((process.events.at(-1)?.seq ?? 0) < (changes.at(-1)?.seq ?? 0) && process.events.length > 0)
      await new Promise((resolve) => setTimeout(resolve, 5));
    for (const { process: life, since } of this.#lives) expectTold(life.events, since, changes);
    this.#ear.expectHeard(changes);
    return this.#lives.flatMap((life) => life.process.latencies);
  }

  async remove(): Promise<void> {
    await this.#process?.kill();
    await this.#ear.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }

  #alive(): Promise<ApprovalProcess> {
    if (this.#process && !this.#process.isDead) return Promise.resolve(this.#process);
    this.#reviving ??= this.#revive().finally(() => {
      this.#reviving = undefined;
    });
    return this.#reviving;
  }

  async #revive(): Promise<ApprovalProcess> {
    for (;;) {
      const boundary = this.#again.shift() ?? 0;
      const { url, secret } = this.#ear;
      const process = new ApprovalProcess({
        folder: this.#folder,
        cache: this.#cache,
        webhook: { url, secret, details: true },
        ahead_ms: this.#ahead,
        boundary,
      });
      this.#process = process;
      try {
        this.#lives.push({ process, since: await process.ready() });
        if (this.tenant !== "") await process.call({ do: "check", tenant: this.tenant });
        return process;
      } catch (error) {
        this.#expectDeath(error);
      }
    }
  }

  async #arm(process: ApprovalProcess, boundary: number): Promise<void> {
    await process.call({ do: "arm", boundary }).catch((error: unknown) => this.#expectDeath(error));
  }

  #expectDeath(error: unknown): void {
    if (!(error instanceof Died)) throw error;
    this.kills += 1;
  }
}

/** Subscribers of a life saw a part of what was committed from its start on, without a gap and without invention. */
function expectTold(
  told: readonly ApprovalChange[],
  since: number,
  changes: readonly ApprovalChange[],
): void {
  const committed = changes.filter(({ seq }) => seq > since).slice(0, told.length);
  const brief = ({ seq, entry, approval: { id, state, answers } }: ApprovalChange) => ({
    seq,
    entry,
    id,
    state,
    answers,
  });
  deepStrictEqual(told.map(brief), committed.map(brief), "events differ from what was committed");
}
