import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ArtifactStore, type Draft, exportLines, KeyFolder, Ledger, ledgerTables } from "@reins/ledger";
import { openSqlite } from "@reins/store";

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
    const keys = keyFolder ?? join(home, "keys");
    const signers = new KeyFolder(keys);
    const ledger = await Ledger.open({
      store,
      signers,
      artifacts,
      newOrigin: () => "reins/sample",
    });
    let earlier = "";
    for (const round of [1, 2, 3]) {
      for (const agent of AGENTS) await ledger.record(draftsOf(agent, round));
      if (round === 2) earlier = (await ledger.checkpoint()).note;
      await ledger.rotateKey(AGENTS[round % AGENTS.length] ?? "reed");
      await ledger.checkpoint();
    }
    return {
      lines: await Array.fromAsync(exportLines(ledger, { artifacts })),
      logKey: ledger.logKey,
      earlier,
    };
  } finally {
    await store.close();
    await rm(home, { recursive: true });
  }
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
