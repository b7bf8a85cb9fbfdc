import { expect, test } from "vitest";
import { saidIn, serveHaak } from "./fixtures/haak.ts";

const SESSIONS = 200;
const TURNS = 3;

test("two hundred concurrent sessions complete every turn, in order within each session", async () => {
  const { connect, ledger } = await serveHaak({ runner: { backend: "native" } });
  const clients = await Promise.all(Array.from({ length: 8 }, () => connect()));
  const sessions = Array.from({ length: SESSIONS }, (_, n) => `coder:many:${n}`);
  const told = await Promise.all(
    sessions.map(async (session_key, n) => {
      const client = clients[n % clients.length];
      if (!client) throw new Error("no client is connected");
      await client.ask("session.init", { agent_id: "coder", session_key });
      // All at once: the session itself puts them in order.
      const turns = Array.from({ length: TURNS }, (_unused, turn) =>
        client.ask("turn.run", { session_key, message: `count to ${turn + 2}` }, `${n}/${turn}`),
      );
      return Promise.all(turns);
    }),
  );
  for (const turns of told) {
    expect(turns.map(saidIn)).toEqual(["1 2", "1 2 3", "1 2 3 4"]);
    const numbers = turns.flatMap(({ events }) => events.map(({ seq }) => seq));
    expect(numbers).toEqual(numbers.toSorted((left, right) => left - right));
  }
  const chain = await ledger.read({ entity_id: "coder:many:7", quality: "turn" });
  expect(chain.map(({ entry }) => entry.parents)).toEqual([[], [chain[0]?.entry.cid], [chain[1]?.entry.cid]]);
});
