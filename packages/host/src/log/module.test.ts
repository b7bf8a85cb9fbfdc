import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import module from "./module.ts";

test("what an earlier version noted of forgotten messages is kept for sessions, and together for what comes and goes", () => {
  const database = new DatabaseSync(":memory:");
  for (const migration of module.migrations.slice(0, 2)) database.exec(migration);
  const note = database.prepare("INSERT INTO log_pruned (tenant, session, ord) VALUES (?, ?, ?)");
  note.run("a", "5e55", 7);
  note.run("a", "connection:1", 9);
  note.run("b", "connection:2", 3);
  for (const migration of module.migrations.slice(2)) database.exec(migration);
  const kept = database.prepare("SELECT tenant, session, ord FROM log_pruned ORDER BY tenant, session").all();
  expect(kept).toMatchObject([
    { tenant: "a", session: "", ord: 9 },
    { tenant: "a", session: "5e55", ord: 7 },
    { tenant: "b", session: "", ord: 3 },
  ]);
});
