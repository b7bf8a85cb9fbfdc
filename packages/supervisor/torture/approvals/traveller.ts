import { deepStrictEqual } from "node:assert/strict";
import type { Random } from "../../../../scripts/torture/random.ts";
import type { ApprovalOption } from "../../src/approvals/approval.ts";
import type { ApprovalRequest } from "../../src/approvals/request.ts";
import { requestFor, subjectOf } from "../../test/approvals/requests.ts";
import { Died, Refused } from "./process.ts";
import type { Acted } from "./protocol.ts";
import type { World } from "./world.ts";

/** An agent and the people around it. */
export class Traveller {
  readonly #world: World;
  readonly #random: Random;
  readonly #subject: ReturnType<typeof subjectOf>;

  constructor(world: World, random: Random) {
    this.#world = world;
    this.#random = random;
    // Sub-agents ask like anybody else.
    const chain = random.pick([[], ["boss"], ["boss", "lead"]]);
    this.#subject = subjectOf({ tenant: world.tenant, chain, depth: chain.length });
  }

  request(own: Partial<ApprovalRequest> = {}, session = "s1"): ApprovalRequest {
    return requestFor("/w/a", { subject: { ...this.#subject, session }, turn: "t1", ...own });
  }

  /** An action, sent until there is an answer; `cut` says whether an earlier sending may have had its effect. */
  async act(request: ApprovalRequest): Promise<Acted & { cut: boolean }> {
    for (let cut = false; ; ) {
      try {
        return { ...(await this.#world.act(request)), cut };
      } catch (error) {
        if (!(error instanceof Died)) throw error;
        cut = true;
      }
    }
  }

  /** A question is put, and its id is what it will be known by from then on. */
  async ask(request: ApprovalRequest): Promise<string> {
    const { outcome, approval } = await this.act(request);
    deepStrictEqual(outcome, "ask");
    if (approval === undefined) throw new Error("an ask names its approval");
    return approval;
  }

  /** An answer, sent until there is one to it. */
  async answer(id: string, by: string, decision: ApprovalOption) {
    for (let cut = false; ; ) {
      try {
        const { tenant } = this.#world;
        const outcome = await this.#world.answer(id, { by, roles: ["approver"], tenant, decision });
        return { outcome, cut };
      } catch (error) {
        if (!(error instanceof Died)) throw error;
        cut = true;
      }
    }
  }

  /** An answer that has to be taken; one cut off may have been, and then it is there already. */
  async answerInTime(id: string, by: string, decision: ApprovalOption): Promise<void> {
    const { outcome, cut } = await this.answer(id, by, decision);
    if (outcome === "ok") return;
    deepStrictEqual([outcome, cut], ["conflict", true], `${by} could not answer`);
    const approval = (await this.#world.check()).approvals.find((one) => one.id === id);
    const own = approval?.answers.filter((answer) => answer.by === by) ?? [];
    deepStrictEqual(
      own.map((answer) => answer.decision),
      [decision],
      `the answer of ${by} was refused and not kept`,
    );
  }

  /** Answers that come too late are rejected every time. */
  async expectStale(id: string): Promise<void> {
    const by = this.#random.pick(["ann", "bob", "eve"]);
    const decision = this.#random.pick<ApprovalOption>(["allow_once", "deny"]);
    deepStrictEqual((await this.answer(id, by, decision)).outcome, "conflict", "a stale answer was taken");
  }

  /** Strangers and agents are turned away at any time. */
  async expectTurnedAway(id: string): Promise<void> {
    const intruders = [
      { by: "ann", roles: ["approver"], tenant: "stranger", decision: "allow_once", code: "not_found" },
      {
        by: "reed",
        roles: ["approver"],
        tenant: this.#world.tenant,
        decision: "allow_once",
        isAgent: true,
        code: "forbidden",
      },
    ] as const;
    const { code, ...answer } = this.#random.pick(intruders);
    for (;;) {
      try {
        deepStrictEqual(await this.#world.answer(id, answer), code);
        return;
      } catch (error) {
        if (!(error instanceof Died)) throw error;
      }
    }
  }

  /** Takes back everything that is still open. */
  async withdraw(): Promise<void> {
    const part = { tenant: this.#world.tenant, session: "s1" };
    for (;;) {
      try {
        await this.#world.call({ do: "withdraw", part });
        return;
      } catch (error) {
        if (!(error instanceof Died)) throw error;
      }
    }
  }

  async revoke(): Promise<void> {
    for (;;) {
      try {
        await this.#world.call({ do: "revoke", tenant: this.#world.tenant, by: "eve" });
        return;
      } catch (error) {
        if (!(error instanceof Died)) throw error;
      }
    }
  }

  advance(milliseconds: number): Promise<void> {
    return this.#world.advance(milliseconds);
  }

  async stateOf(id: string): Promise<string | undefined> {
    return (await this.#world.check()).approvals.find((approval) => approval.id === id)?.state;
  }

  /** Several at once; what was cut off or refused is left out. */
  async atOnce<Value>(all: readonly (() => Promise<Value>)[]): Promise<Value[]> {
    const settled = await Promise.allSettled(all.map((one) => one()));
    return settled.flatMap((one) => {
      if (one.status === "fulfilled") return [one.value];
      if (one.reason instanceof Died || (one.reason instanceof Refused && one.reason.code === "conflict"))
        return [];
      throw one.reason;
    });
  }

  once(id: string, by: string, decision: ApprovalOption): Promise<string> {
    return this.#world.answer(id, { by, roles: ["approver"], tenant: this.#world.tenant, decision });
  }

  actOnce(request: ApprovalRequest): Promise<Acted> {
    return this.#world.act(request);
  }
}
