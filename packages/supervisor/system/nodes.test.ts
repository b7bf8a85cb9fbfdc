import { join } from "node:path";
import { KeyFolder, Ledger, ledgerTables } from "@reins/ledger";
import { openPostgres, readPostgresAddress } from "@reins/store";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { PostgresServer, postgresFolder } from "../../store/test/postgres-server.ts";
import { Approvals } from "../src/approvals/approvals.ts";
import type { Decided } from "../src/decision/decision.ts";
import { Supervisor } from "../src/decision/supervisor.ts";
import { harnessTables } from "../src/harness/tables.ts";
import { keysIn } from "../test/approvals/home.ts";
import {
  askedApproval,
  newHome,
  plainFacts,
  policyOf,
  requestContext,
  testSubject,
  toolEvent,
} from "./fixtures/supervised.ts";

let server: PostgresServer;

/** Three nodes that decide under one policy; they share the folder of keys. */
async function startNodes(rules: string) {
  const [home, address] = [await newHome(), readPostgresAddress(server.address())];
  const policy = policyOf(rules);
  const start = async (id: string) => {
    const tables = [ledgerTables, ...harnessTables];
    const store = await openPostgres({ address, tables, node: { id, labels: {} } });
    onTestFinished(() => store.close());
    const signers = new KeyFolder(join(home, "keys"));
    const ledger = await Ledger.open({ store, signers, newOrigin: () => "reins/test" });
    const approvals = new Approvals({ store, ledger, ...(await keysIn(home)) });
    onTestFinished(() => approvals.close());
    const supervisor = new Supervisor({
      ...{ store, ledger, approvals, gatherFacts: plainFacts },
      policies: { get: () => policy },
    });
    const decide = (tool: string, session = "s1") =>
      supervisor.decide(toolEvent(tool), { ...testSubject, session }, requestContext);
    return { ledger, approvals, decide };
  };
  const first = await start("a");
  return [first, ...(await Promise.all(["b", "c"].map(start)))];
}

const ASKS = `
tool_rules:
  - { name: question, condition: { tool_name_matches: [deploy, release] }, verdict: ask, reason: careful }
  - { name: rest, condition: {}, verdict: allowed, reason: harmless }`;

const bob = { by: "bob", roles: ["approver"], tenant: "default", decision: "allow_once" } as const;

describe.skipIf(postgresFolder === undefined)(
  "nodes that decide beside each other",
  { timeout: 60_000 },
  () => {
    beforeAll(async () => {
      server = await PostgresServer.start();
    });
    afterAll(() => server.stop());

    test.each(["blocked", "ask"])(
      "go no further than one limit together, which says %s",
      async (exceeded) => {
        const nodes = await startNodes(`
tool_rules: [{ name: all, condition: {}, verdict: allowed }]
limits: [{ name: budget, per: user, within: 1h, calls: 10, exceeded: ${exceeded} }]`);
        const decided = await Promise.all(
          Array.from({ length: 100 }, (_, n) => nodes[n % nodes.length]?.decide("ls", `s${n % 7}`)),
        );
        const verdicts = decided.map((one) => one?.verdict);
        expect(verdicts.filter((verdict) => verdict === "allowed")).toHaveLength(10);
        expect(verdicts.filter((verdict) => verdict === exceeded)).toHaveLength(90);
        const refused = decided.filter((one) => one?.verdict === exceeded);
        expect(refused.every((one) => one?.rule === "budget")).toBe(true);
        const [{ ledger } = {}] = nodes;
        const kept = await ledger?.read({ quality: "policy_verdict", tag: "allowed", limit: 200 });
        expect(kept).toHaveLength(10);
        // Each node knows by now what all of them used.
        for (const node of nodes)
          expect(await node.decide("cat")).toMatchObject({ verdict: exceeded, rule: "budget" });
      },
    );

    test("report an answer to who waits for it on another node, also after the database was away", async () => {
      const [asking, answering] = await startNodes(ASKS);
      const seen: string[] = [];
      asking?.approvals.subscribe(({ approval }) => seen.push(approval.state));
      for (const [index, tool] of ["deploy", "release"].entries()) {
        let decided: Decided | undefined;
        // Its connections come back one after the other.
        const verdict = async () => {
          decided = await asking?.decide(tool);
          return decided?.verdict;
        };
        await expect.poll(verdict, { timeout: 20_000 }).toBe("ask");
        const approval = askedApproval(decided ?? failing());
        await answering?.approvals.answer(approval, { ...bob, decision: "deny" });
        await expect
          .poll(() => seen)
          .toEqual(
            Array(index + 1)
              .fill(["pending", "denied"])
              .flat(),
          );
        if (index === 1) return;
        await server.kill();
        await server.resume();
        await expect
          .poll(async () => (await asking?.decide("ls"))?.reason, { timeout: 20_000 })
          .toBe("harmless");
        await expect
          .poll(async () => (await answering?.decide("ls"))?.reason, { timeout: 20_000 })
          .toBe("harmless");
      }
    });

    test("have an approval answered once, and used once, on whichever node", async () => {
      const nodes = await startNodes(ASKS);
      const [asking] = nodes;
      const approval = askedApproval((await asking?.decide("deploy")) ?? failing());
      const answers = await Promise.allSettled(nodes.map(({ approvals }) => approvals.answer(approval, bob)));
      expect(answers.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      const decided = await Promise.all(
        Array.from({ length: 12 }, (_, n) => nodes[n % nodes.length]?.decide("deploy")),
      );
      expect(decided.filter((one) => one?.verdict === "allowed")).toHaveLength(1);
      const entries = await asking?.ledger.read({ tag: `approval:${approval}` });
      const changes = entries?.filter(
        ({ entry }) => entry.quality === "approval" || entry.tags.includes("allowed"),
      );
      expect(changes?.map(({ entry }) => entry.quality)).toEqual(["approval", "approval", "policy_verdict"]);
    });
  },
);

function failing(): never {
  throw new Error("there is no node");
}
