import { readFile } from "node:fs/promises";
import { channelOf } from "@reins/host";
import { connectionTables } from "../../src/connections/tables.ts";
import type { AgentHome } from "../../system/fixtures/agent-home.ts";
import type { Follower } from "./follower.ts";

const TENANT = "default";
type Json = Readonly<Record<string, unknown>>;

/** Fails unless what a follower saw is exactly what the log has for it. */
export async function expectWhole(home: AgentHome, follower: Follower, session: string): Promise<void> {
  const { harness, hosting } = home;
  const { log } = hosting.hub;
  const { connection, seen, aside, refused } = follower;
  const record = await harness.store.query(connectionTables, "get", { id: connection });
  const since = record?.sessions[session];
  if (record === undefined || since === undefined) throw new Error("a connection was lost");
  const orders = seen.map(({ order }) => order);
  for (const [index, order] of orders.entries())
    if (index > 0 && order <= (orders[index - 1] ?? 0))
      throw new Error(`${order} came after ${orders[index - 1]}`);
  const channels = [session, channelOf(connection), channelOf(connection, session)];
  const [told, questions] = [new Set<number>(), new Set<number>()];
  for (let after = 0; ; ) {
    const page = await log.page(TENANT, channels, after);
    if (page.length === 0) break;
    for (const event of page) {
      after = event.order;
      const isNews = event.session !== session || event.order > since;
      if (event.except === connection || !isNews) continue;
      // A question may have been settled before it could be put.
      (event.request === undefined ? told : questions).add(event.order);
    }
  }
  const got = new Set(orders);
  const missed = [...told].filter((order) => !got.has(order));
  const invented = orders.filter((order) => !told.has(order) && !questions.has(order));
  if (missed.length > 0) throw new Error(`missed ${missed.slice(0, 5)} and ${missed.length} in all`);
  if (invented.length > 0) throw new Error(`told ${invented.slice(0, 5)}, which the log does not have`);
  if (refused.length > 0) throw new Error(`an answer was refused: ${refused[0]}`);
  if (aside.length > 0) throw new Error(`told out of order: ${JSON.stringify(aside[0])}`);
  expectNoQuestionTwice(seen.map(({ message }) => message));
}

function expectNoQuestionTwice(messages: readonly Json[]): void {
  const ids = messages
    .filter(({ id, method }) => id !== undefined && method !== undefined)
    .map(({ id }) => id);
  if (new Set(ids).size !== ids.length) throw new Error("a question was put twice");
}

/** Fails unless every request whose answer was to come on the stream has exactly one. */
export function expectAnswered({ seen }: Follower, asked: readonly string[]): void {
  const answers = seen.flatMap(({ message: { id, method } }) => (method === undefined ? [id] : []));
  for (const id of asked) {
    const count = answers.filter((answer) => answer === id).length;
    if (count !== 1) throw new Error(`${id} was answered ${count} times`);
  }
}

/** How many turns were cut off, as the ledger has it. */
export async function interruptions({ ledger }: AgentHome): Promise<number> {
  return (await ledger.read({ tag: "interrupted", limit: 1_000 })).length;
}

/** Fails unless every approval is as the ledger has it, step by step; gives how many there are. */
export async function expectAgreement({ harness, ledger }: AgentHome): Promise<number> {
  let count = 0;
  for (let after: string | undefined; ; ) {
    const page = await harness.approvals.list({
      tenant: TENANT,
      limit: 100,
      ...(after !== undefined && { after }),
    });
    for (const approval of page) {
      after = approval.id;
      count += 1;
      const tagged = await ledger.read({ tag: `approval:${approval.id}`, limit: 100 });
      const steps = tagged.filter(({ entry }) => entry.quality === "approval").map(({ entry }) => entry);
      if (!steps.some(({ cid }) => cid === approval.entry))
        throw new Error(`${approval.id} was asked off the record`);
      const answers = steps.filter(({ payload }) => Object(payload).answer !== undefined);
      if (answers.length !== approval.answers.length)
        throw new Error(
          `${approval.id} has ${approval.answers.length} answers, the ledger ${answers.length}`,
        );
      const uses = tagged.filter(
        ({ entry }) => entry.quality === "policy_verdict" && Object(entry.payload).verdict === "allowed",
      );
      const isUsed = approval.state === "used";
      if (uses.length !== (isUsed ? 1 : 0))
        throw new Error(`${approval.id} is ${approval.state} and was used ${uses.length} times`);
      const last = steps.at(-1);
      if (!isUsed && Object(last?.payload).state !== approval.state)
        throw new Error(`${approval.id} is ${approval.state}, in the ledger ${Object(last?.payload).state}`);
    }
    if (page.length < 100) return count;
  }
}

/** Fails unless every file that is there was allowed, once for each time it was written; gives how many there are. */
export async function expectVerdicts({ ledger }: AgentHome, effects: ReadonlySet<string>): Promise<number> {
  const allowed = new Map<string, number>();
  for (let after: number | undefined; ; ) {
    const page = await ledger.read({
      quality: "policy_verdict",
      limit: 500,
      ...(after !== undefined && { after }),
    });
    for (const { seq, entry } of page) {
      after = seq;
      const { verdict, facts } = Object(entry.payload);
      if (verdict !== "allowed") continue;
      for (const effect of Object(facts).effects ?? [])
        if (effect.kind === "write") allowed.set(effect.path, (allowed.get(effect.path) ?? 0) + 1);
    }
    if (page.length < 500) break;
  }
  let count = 0;
  for (const path of effects) {
    const text = await readFile(path, "utf8").catch(() => "");
    const times = text.split("\n").length - 1;
    if (times > (allowed.get(path) ?? 0))
      throw new Error(`${path} was written ${times} times and allowed ${allowed.get(path) ?? 0} times`);
    count += times;
  }
  return count;
}
