import * as fc from "fast-check";
import { expect, test } from "vitest";
import { APPROVAL_OPTIONS, type ApprovalChange, type ApprovalOption } from "../src/approvals/approval.ts";
import { checkAgreement } from "../test/approvals/agreement.ts";
import { act, requestFor, subjectOf } from "../test/approvals/requests.ts";
import { sharedHome, type TestHome } from "./fixtures/approvals-home.ts";
import { ApprovalModel } from "./fixtures/approvals-model.ts";
import { eventually } from "./fixtures/eventually.ts";

const { freshHome, tenant } = sharedHome();

interface Real {
  readonly home: TestHome;
  readonly tenant: string;
  readonly seen: ApprovalChange[];
}

type Command = fc.AsyncCommand<ApprovalModel, Real>;

/** Actions have quorums and lifetimes of their own, so that every path is taken. */
function requestOf(real: Real, key: number, turn: string) {
  const quorum = (key % 3) + 1;
  const expires_ms = key % 2 === 0 ? 40 : 400;
  return requestFor(`/w/${key}`, { subject: subjectOf({ tenant: real.tenant }), turn, quorum, expires_ms });
}

/** What is over ends in an order that only the events tell; the model follows it. */
async function sweep(model: ApprovalModel, real: Real): Promise<void> {
  const over = model.over();
  await real.home.approvals.expire();
  await eventually(() => expect(real.seen.length).toBe(model.steps.length + over.length));
  for (const { approval } of real.seen.slice(model.steps.length))
    model.move(over.find(({ id, state }) => id === approval.id && state !== "expired")!, "expired");
}

async function compare(model: ApprovalModel, real: Real): Promise<void> {
  const rows = await real.home.approvals.list({ tenant: real.tenant, limit: 1_000 });
  expect(rows.map(({ id, state, turn, answers }) => [id, state, turn, answers.map(({ by }) => by)])).toEqual(
    model.approvals.map(({ id, state, turn, answers }) => [id, state, turn, answers.map(({ by }) => by)]),
  );
}

class Seek implements Command {
  readonly #key: number;
  readonly #turn: string;
  constructor(key: number, turn: string) {
    this.#key = key;
    this.#turn = turn;
  }
  check = () => true;
  async run(model: ApprovalModel, real: Real): Promise<void> {
    const request = requestOf(real, this.#key, this.#turn);
    const approval = await real.home.approvals.seek(request);
    const open = model.open(this.#key);
    if (open) {
      expect(approval.id).toBe(open.id);
      open.turn = this.#turn;
    } else {
      const { id, quorum, expires_at } = approval;
      const expires = Date.parse(expires_at);
      model.ask({ id, key: this.#key, quorum, expires, turn: this.#turn, state: "pending", answers: [] });
    }
    await compare(model, real);
  }
  toString = () => `seek(${this.#key}, ${this.#turn})`;
}

class Answer implements Command {
  readonly #place: number;
  readonly #by: string;
  readonly #decision: ApprovalOption;
  constructor(place: number, by: string, decision: ApprovalOption) {
    this.#place = place;
    this.#by = by;
    this.#decision = decision;
  }
  check = (model: Readonly<ApprovalModel>) => model.approvals.length > 0;
  async run(model: ApprovalModel, real: Real): Promise<void> {
    const approval = model.approvals.at(-1 - (this.#place % model.approvals.length))!;
    const given = { by: this.#by, roles: ["approver"], tenant: real.tenant, decision: this.#decision };
    const outcome = await real.home.approvals.answer(approval.id, given).then(
      () => "ok",
      (error) => error.code,
    );
    expect(outcome).toBe(model.answer(approval, this.#by, this.#decision));
    await compare(model, real);
  }
  toString = () => `answer(${this.#place}, ${this.#by}, ${this.#decision})`;
}

class Act implements Command {
  readonly #key: number;
  readonly #turn: string;
  constructor(key: number, turn: string) {
    this.#key = key;
    this.#turn = turn;
  }
  check = (model: Readonly<ApprovalModel>) => model.settled(this.#key, this.#turn) !== undefined;
  async run(model: ApprovalModel, real: Real): Promise<void> {
    const settled = model.settled(this.#key, this.#turn);
    const outcome = await act(real.home, requestOf(real, this.#key, this.#turn));
    expect(outcome).toBe(settled === "denied" ? "blocked" : "allowed");
    if (settled === "approved") model.move(model.open(this.#key)!, "used");
    await compare(model, real);
  }
  toString = () => `act(${this.#key}, ${this.#turn})`;
}

class Withdraw implements Command {
  readonly #turn: string;
  constructor(turn: string) {
    this.#turn = turn;
  }
  check = () => true;
  async run(model: ApprovalModel, real: Real): Promise<void> {
    const part = { tenant: real.tenant, session: "s1", turn: this.#turn };
    const gone = await real.home.approvals.withdraw(part, "the turn was cancelled");
    const open = model.approvals.filter(
      ({ turn, state }) => turn === this.#turn && ["pending", "approved"].includes(state),
    );
    expect(gone.map(({ id }) => id)).toEqual(open.map(({ id }) => id));
    for (const approval of open) model.move(approval, "withdrawn");
    await compare(model, real);
  }
  toString = () => `withdraw(${this.#turn})`;
}

class Advance implements Command {
  readonly #milliseconds: number;
  constructor(milliseconds: number) {
    this.#milliseconds = milliseconds;
  }
  check = () => true;
  async run(model: ApprovalModel, real: Real): Promise<void> {
    model.advance(this.#milliseconds);
    real.home.clock.advance(this.#milliseconds);
    await sweep(model, real);
    await compare(model, real);
  }
  toString = () => `advance(${this.#milliseconds})`;
}

const keys = fc.nat(3);
const turns = fc.constantFrom("t1", "t2");
const people = fc.constantFrom("ann", "bob", "eve");
const commands = fc.commands(
  [
    fc.tuple(keys, turns).map(([key, turn]) => new Seek(key, turn)),
    fc
      .tuple(fc.nat(3), people, fc.constantFrom(...APPROVAL_OPTIONS))
      .map(([place, by, decision]) => new Answer(place, by, decision)),
    fc.tuple(keys, turns).map(([key, turn]) => new Act(key, turn)),
    turns.map((turn) => new Withdraw(turn)),
    fc.constantFrom(10, 30, 100).map((milliseconds) => new Advance(milliseconds)),
  ],
  { maxCommands: 40, size: "max" },
);

test("whatever comes in whatever order, approvals do what the model does", { timeout: 120_000 }, async () => {
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(commands, async (sequence) => {
      runs += 1;
      const home = await freshHome();
      const real: Real = { home, tenant: `${tenant()}-${runs}`, seen: [] };
      home.approvals.subscribe((change) => {
        if (change.approval.tenant === real.tenant) real.seen.push(change);
      });
      const model = new ApprovalModel(home.clock.now().getTime());
      await fc.asyncModelRun(() => ({ model, real }), sequence);
      await new Seek(9, "t9").run(model, real);
      await eventually(() =>
        expect(
          real.seen.map(
            ({ approval }) => `${approval.id} ${approval.state} ${approval.answers.map(({ by }) => by)}`,
          ),
        ).toEqual(model.steps),
      );
      await home.approvals.withdraw({ tenant: real.tenant, session: "s1" }, "the run is over");
      const { grants } = await checkAgreement(home.ledger, home.approvals, real.tenant);
      expect(grants).toHaveLength(model.granted.size);
      await home.approvals.close();
    }),
    { numRuns: 40 },
  );
});
