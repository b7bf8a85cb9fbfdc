import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ArtifactStore, type Draft, exportLines, KeyFolder, Ledger, ledgerTables } from "@reins/ledger";
import { openPostgres, openSqlite, readPostgresAddress, type Store } from "@reins/store";

/** A ledger with something of everything, as an export. */
export interface SampleLedger {
  /** The lines of the export, private content included, each with its newline. */
  readonly lines: readonly string[];
  readonly logKey: string;
  /** A checkpoint from the middle. */
  readonly earlier: string;
}

const AGENTS = ["reed", "sedge", "rush"];
const CONSTITUTION = "c0".repeat(32);

/**
 * Makes a ledger on disk: turns signed by several agents, approvals by a person, verdicts, private content,
 * keys that were rotated, and several checkpoints. Those made with the same folder of keys are of the same name and key.
 */
export async function makeSampleLedger(keyFolder?: string): Promise<SampleLedger> {
  const home = await mkdtemp(join(tmpdir(), "reins-sample-"));
  const store = await openSqlite({ path: join(home, "reins.db"), tables: [ledgerTables] });
  try {
    const artifacts = new ArtifactStore(join(home, "artifacts"));
    const ledger = await Ledger.open({
      store,
      signers: new KeyFolder(keyFolder ?? join(home, "keys")),
      artifacts,
      newOrigin,
    });
    const record = async (agent: string, round: number) => void (await ledger.record(draftsOf(agent, round)));
    return await exported(ledger, artifacts, record, (round) =>
      ledger.rotateKey(AGENTS[round % AGENTS.length] ?? "reed"),
    );
  } finally {
    await store.close();
    await rm(home, { recursive: true });
  }
}

/**
 * The same of a ledger to which three nodes write in PostgreSQL at a time, each with its copy of the first one's keys. In
 * each round another node writes to the chain of an agent.
 */
export async function makeSampleLedgerOfNodes(address: string, keyFolder?: string): Promise<SampleLedger> {
  const home = await mkdtemp(join(tmpdir(), "reins-sample-"));
  const stores: Store[] = [];
  try {
    const artifacts = new ArtifactStore(join(home, "artifacts"));
    const ledgers: Ledger[] = [];
    const first = keyFolder ?? join(home, "keys");
    for (const id of AGENTS) {
      const node = { id, labels: {} };
      const store = await openPostgres({
        ...{ address: readPostgresAddress(address), tables: [ledgerTables], node },
      });
      stores.push(store);
      const keys = ledgers.length === 0 ? first : join(home, `keys of ${id}`);
      if (ledgers.length > 0) await cp(first, keys, { recursive: true });
      ledgers.push(await Ledger.open({ store, signers: new KeyFolder(keys), artifacts, newOrigin }));
    }
    const [ledger] = ledgers;
    if (!ledger) throw new Error("there is no node");
    const record = async (agent: string, round: number) => {
      const node = ledgers[(AGENTS.indexOf(agent) + round) % ledgers.length];
      // At the same time each adds to the chain that all share.
      const common = ledgers.map((one) => one.record([{ ...SYSTEM_EVENT, payload: { agent, round } }]));
      await Promise.all([node?.record(draftsOf(agent, round)), ...common]);
    };
    const sample = await exported(ledger, artifacts, record, async () => undefined);
    for (const one of ledgers) await one.close();
    return sample;
  } finally {
    for (const store of stores) await store.close();
    await rm(home, { recursive: true });
  }
}

const newOrigin = () => "reins/sample";

const SYSTEM_EVENT: Omit<Draft, "payload"> = {
  quality: "session_lifecycle",
  actor: "reins:system",
  target: "reins:system",
};

/** Records three rounds of every agent, with checkpoints between them. */
async function exported(
  ledger: Ledger,
  artifacts: ArtifactStore,
  record: (agent: string, round: number) => Promise<void>,
  between: (round: number) => Promise<void>,
): Promise<SampleLedger> {
  let earlier = "";
  for (const round of [1, 2, 3]) {
    for (const agent of AGENTS) await record(agent, round);
    if (round === 2) earlier = (await ledger.checkpoint()).note;
    await between(round);
    await ledger.checkpoint();
  }
  const lines = await Array.fromAsync(exportLines(ledger, { artifacts }));
  return { lines, logKey: ledger.logKey, earlier };
}

function draftsOf(agent: string, round: number): Draft[] {
  const session = `${agent}:ahp:${round % 2}`;
  const common = { entity_id: session, target: "bash", actor: agent };
  return [
    { ...common, quality: "session_lifecycle", target: session, payload: { event: "session_start", round } },
    { ...common, quality: "tool_call", payload: { agent, round, price: 1.5, arguments: ["ls", "ünïcödé"] } },
    { ...common, quality: "mailbox_inject", payload: { minutes: `of round ${round}` } },
    {
      ...common,
      quality: "policy_verdict",
      actor: "reins:system",
      tags: ["ahp", agent],
      payload: { verdict: "ask", reason: "a person decides", constitution_hash: CONSTITUTION, round },
    },
    {
      ...common,
      quality: "approval",
      actor: "alice",
      payload: { answer: round % 2 === 0 ? "yes" : "no", round },
    },
    {
      ...common,
      quality: "tool_result",
      payload: { round, output: `what ${agent} saw in round ${round}` },
      isPrivate: (_, [member]) => member === "output",
    },
    {
      ...common,
      quality: "turn",
      target: session,
      rules_checked: ["tools"],
      predicate_results: [true],
      payload: { round, inputs_hash: "aa", outputs_hash: "bb", timestamp: "t", actor: agent },
    },
  ];
}
