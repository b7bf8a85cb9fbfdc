import { deepStrictEqual } from "node:assert/strict";
import type { ApprovalRequest } from "../../src/approvals/request.ts";
import type { Traveller } from "./traveller.ts";

const HOUR_MS = 3_600_000;

/** One client's steps through an approval; a client that is cut off asks again, as real ones do. */
export type Journey = (traveller: Traveller) => Promise<void>;

/** Uses a yes: it is there, unless an earlier sending took it and was cut off before it could say so. */
async function use(traveller: Traveller, request: ApprovalRequest, id: string): Promise<void> {
  const { outcome, approval, cut } = await traveller.act(request);
  if (outcome === "allowed") deepStrictEqual(approval, id);
  else deepStrictEqual([outcome, cut, approval !== id], ["ask", true, true], "a yes was lost");
  deepStrictEqual(await traveller.stateOf(id), "used");
}

/** Every kind of journey, by name. */
export const JOURNEYS: Readonly<Record<string, Journey>> = {
  async approved(traveller) {
    const request = traveller.request();
    const id = await traveller.ask(request);
    deepStrictEqual(await traveller.ask(request), id, "the same question was put twice");
    await traveller.expectTurnedAway(id);
    await traveller.answerInTime(id, "ann", "allow_once");
    await traveller.expectStale(id);
    await use(traveller, request, id);
    await traveller.expectStale(id);
    const next = await traveller.ask(request);
    deepStrictEqual(next === id, false, "a yes was used twice");
  },
  async denied(traveller) {
    const request = traveller.request();
    const id = await traveller.ask(request);
    await traveller.answerInTime(id, "bob", "deny");
    await traveller.expectStale(id);
    deepStrictEqual((await traveller.act(request)).outcome, "blocked");
    deepStrictEqual((await traveller.act(request)).outcome, "blocked");
  },
  async contradicted(traveller) {
    const request = traveller.request();
    const id = await traveller.ask(request);
    const people = ["ann", "bob", "eve"] as const;
    const decisions = ["allow_once", "deny", "allow_once"] as const;
    const answers = people.map((by, index) => () => traveller.once(id, by, decisions[index] ?? "deny"));
    const outcomes = await traveller.atOnce(answers);
    for (const by of people) outcomes.push((await traveller.answer(id, by, "deny")).outcome);
    if (outcomes.filter((outcome) => outcome === "ok").length > 1) throw new Error("two answers were taken");
    const state = await traveller.stateOf(id);
    deepStrictEqual(state === "approved" || state === "denied", true, `it is ${state}`);
    if (state === "approved") await use(traveller, request, id);
    else deepStrictEqual((await traveller.act(request)).outcome, "blocked");
    await traveller.expectStale(id);
  },
  async quorum(traveller) {
    const request = traveller.request({ quorum: 2 });
    const id = await traveller.ask(request);
    const sent = ["ann", "bob", "ann"].map((by) => () => traveller.once(id, by, "allow_once"));
    await traveller.atOnce(sent);
    for (const by of ["ann", "bob"]) await traveller.answer(id, by, "allow_once");
    deepStrictEqual(await traveller.stateOf(id), "approved");
    await traveller.expectStale(id);
    await use(traveller, request, id);
  },
  async contested(traveller) {
    const request = traveller.request();
    const id = await traveller.ask(request);
    await traveller.answerInTime(id, "ann", "allow_once");
    const acts = Array.from({ length: 4 }, () => () => traveller.actOnce(request));
    const acted = await traveller.atOnce(acts);
    const used = acted.filter(({ outcome, approval }) => outcome === "allowed" && approval === id);
    if (used.length > 1) throw new Error("a yes was used twice");
    if ((await traveller.stateOf(id)) !== "used") await use(traveller, request, id);
    deepStrictEqual(await traveller.stateOf(id), "used");
  },
  async cancelled(traveller) {
    const request = traveller.request();
    const id = await traveller.ask(request);
    await traveller.atOnce<unknown>([
      () => traveller.once(id, "ann", "allow_once"),
      () => traveller.withdraw(),
    ]);
    await traveller.withdraw();
    deepStrictEqual(await traveller.stateOf(id), "withdrawn");
    await traveller.expectStale(id);
    deepStrictEqual((await traveller.ask(request)) === id, false);
  },
  async overlooked(traveller) {
    const request = traveller.request({ expires_ms: HOUR_MS });
    const id = await traveller.ask(request);
    await traveller.advance(HOUR_MS);
    await traveller.expectStale(id);
    deepStrictEqual(await traveller.stateOf(id), "expired");
    deepStrictEqual((await traveller.ask(request)) === id, false);
  },
  async unused(traveller) {
    const request = traveller.request({ expires_ms: HOUR_MS });
    const id = await traveller.ask(request);
    await traveller.answerInTime(id, "ann", "allow_once");
    await traveller.advance(HOUR_MS);
    deepStrictEqual((await traveller.ask(request)) === id, false, "a yes outlived its time");
    deepStrictEqual(await traveller.stateOf(id), "expired");
    await traveller.expectStale(id);
  },
  async always(traveller) {
    const request = traveller.request();
    const elsewhere = traveller.request({}, "s2");
    const id = await traveller.ask(request);
    await traveller.answerInTime(id, "ann", "allow_always");
    const first = await traveller.act(request);
    deepStrictEqual(first.outcome, "allowed");
    deepStrictEqual((await traveller.act(elsewhere)).outcome, "allowed");
    await traveller.revoke();
    deepStrictEqual((await traveller.act(elsewhere)).outcome, "ask");
  },
};
