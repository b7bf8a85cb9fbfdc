import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { openTestHome } from "./fixtures/home.ts";
import { openTestHub } from "./fixtures/hub.ts";

const TURNS = 40;
const RULES = `
tool_rules:
  - { name: begin, condition: { event: [session_start, pre_prompt] }, verdict: allowed }
  - { name: rest, condition: {}, verdict: ask, reason: people decide }`;
/** What a turn took before texts were packed, measured in the same way. */
const BEFORE = 32_052;
/**
 * What does not grow with turns: the newest entries, held once more, are bounded; checkpoints come with time, and a busy
 * machine takes more of it.
 */
const APART = ["ledger_recent", "ledger_checkpoints"];

test("a turn with ten pieces of text and one approval takes at most half of the room it took", {
  timeout: 120_000,
}, async () => {
  const home = await openTestHome({ rules: RULES });
  const { connect } = await openTestHub(home);
  const client = await connect();
  const { sessionId } = await client.request("session/new", { cwd: home.workspace, mcpServers: [] });
  const turn = async (n: number) => {
    const over = client.prompt(String(sessionId), "burst 10", `run make t${n}`);
    await expect.poll(() => client.asked.length, { interval: 5 }).toBe(n + 1);
    const { id } = client.asked[n] ?? {};
    client.connection.answer(String(id), { outcome: { outcome: "selected", optionId: "allow_once" } });
    await over;
  };
  await turn(0);
  const { store } = home.harness;
  await store.commit([]);
  const before = await sizes(home.home);
  for (let n = 1; n <= TURNS; n += 1) await turn(n);
  await store.commit([]);
  const after = await sizes(home.home);
  const grown = [...after].map(([name, size]) => (APART.includes(name) ? 0 : size - (before.get(name) ?? 0)));
  expect(grown.reduce((sum, size) => sum + size, 0) / TURNS).toBeLessThan(BEFORE / 2);
});

/** The bytes of each table and index, in the database as it would lie on the disk. */
async function sizes(folder: string): Promise<ReadonlyMap<string, number>> {
  const copy = join(folder, `${Date.now()}.copy`);
  for (const end of ["", "-wal"]) await copyFile(join(folder, `reins.db${end}`), `${copy}${end}`);
  const database = new DatabaseSync(copy);
  const rows = database.prepare("SELECT name, sum(pgsize) AS size FROM dbstat GROUP BY name").all();
  database.close();
  return new Map(rows.map(({ name, size }) => [String(name), Number(size)]));
}
