import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { KeyFolder, KeyRing, Ledger, ledgerTables, type PlacedEntry } from "@reins/ledger";
import { openSqlite, type Store } from "@reins/store";
import { Harness, harnessTables } from "@reins/supervisor";
import { UNPROMPTED } from "../governor/unprompted.ts";
import { sessionTables } from "../sessions/tables.ts";
import { ERRAND } from "./gate-probe.ts";

/** How whatever an agent wants to do is answered. */
export type TrialAnswer = "reject" | "allow";

const PAGE = 1_000;

/** A home to try agents in: a real harness with a ledger, under rules that answer everything the same way. */
export class TrialHome {
  readonly harness: Harness;
  readonly #store: Store;
  #read = 0;

  private constructor(harness: Harness, store: Store) {
    this.harness = harness;
    this.#store = store;
  }

  /** Opens one in an empty folder. At first everything is rejected. */
  static async open(home: string, userHome: string): Promise<TrialHome> {
    await mkdir(home, { recursive: true, mode: 0o700 });
    await writeFile(join(home, "constitution.yaml"), constitution("reject"));
    const tables = [ledgerTables, ...harnessTables, sessionTables];
    const store = await openSqlite({ path: join(home, "reins.db"), tables });
    try {
      const signers = new KeyRing(new KeyFolder(join(home, "keys")));
      const ledger = await Ledger.open({ store, signers, newOrigin: () => "reins/trial" });
      return new TrialHome(await Harness.open({ home, userHome, store, ledger }), store);
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  /** Answers everything so from now on. */
  async answer(answer: TrialAnswer): Promise<void> {
    const { policies, home, identity } = this.harness;
    const { tenant } = identity.local();
    await writeFile(join(home, "constitution.yaml"), constitution(answer));
    await policies.refresh();
    if (policies.status(tenant)?.waiting) await policies.accept(tenant, identity.local().user);
  }

  /** The entries that were recorded since they were last asked for. */
  async recorded(): Promise<readonly PlacedEntry["entry"][]> {
    const { ledger, supervisor } = this.harness;
    await supervisor.close();
    const entries: PlacedEntry["entry"][] = [];
    for (;;) {
      const page = await ledger.read({ after: this.#read, limit: PAGE });
      for (const { seq, entry } of page) {
        this.#read = seq;
        entries.push(entry);
      }
      if (page.length < PAGE) return entries;
    }
  }

  async close(): Promise<void> {
    await this.harness.close();
    await this.#store.close();
  }
}

/** The rule by which sub-agents start, and later work is arranged. */
export const ERRANDS_BEGIN = "errands_begin";

/** The members of arguments by which agents are given something to do. */
const PROMPTED_BY = ["prompt", "task", "message", "objective"];

/**
 * Sessions begin and prompts pass; what was done unasked is noted and ends nothing, so that all of it is seen. Work without
 * a prompt is stopped, as the rules of a new home have it.
 */
function constitution(answer: TrialAnswer): string {
  const verdict = answer === "allow" ? "allowed" : "blocked";
  const errands = PROMPTED_BY.map((member) => `{ arguments: { ${member}: "*${ERRAND}*" } }`).join(", ");
  return `tool_rules:
  - name: unprompted_work_is_stopped
    condition: { tool_name_matches: [${UNPROMPTED}] }
    verdict: blocked
    reason: there was no prompt
  - name: sessions_begin_and_prompts_pass
    condition: { event: [session_start, pre_prompt] }
    verdict: allowed
  - name: what_was_done_unasked_is_noted
    condition: { event: post_action }
    verdict: allowed
  - name: ${ERRANDS_BEGIN}
    condition: { any_of: [${errands}] }
    verdict: allowed
  - name: everything_is_${verdict}
    condition: {}
    verdict: ${verdict}
    reason: this is a trial, in which everything is ${verdict}
`;
}
