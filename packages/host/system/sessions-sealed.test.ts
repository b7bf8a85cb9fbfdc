import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { change, openSqlite } from "@reins/store";
import { type Principal, Vault } from "@reins/supervisor";
import { expect, onTestFinished, test } from "vitest";
import { newSessionRecord } from "../src/sessions/new-session.ts";
import { openServers, renewSessionSeals, sealServers } from "../src/sessions/sessions.ts";
import { sessionTables } from "../src/sessions/tables.ts";
import { openPuppet, openPuppetIn } from "./fixtures/puppet.ts";

const RULES = "tool_rules: [{ name: all, condition: {}, verdict: allowed }]\n";
const TOKEN = `ghp_${"a1B2".repeat(9)}`;

const confidant = (got: string) => ({
  name: "confidant",
  command: process.execPath,
  args: [fileURLToPath(new URL("./fixtures/confidant.mjs", import.meta.url)), got, "--token", TOKEN],
  env: [{ name: "CONFIDANT_TOKEN", value: `${TOKEN} too` }],
});
const started = JSON.stringify(["--token", TOKEN, `${TOKEN} too`]);
const ann: Principal = {
  ...{ id: "tok_1", kind: "user", user: "ann", tenant: "default", started: "interactive" },
  ...{ roles: [], scopes: ["*"], agents: ["*"] },
};
const show = [{ call: ["show", { text: "" }] }];

test("a session is resumed with exactly the MCP servers it was begun with, or not at all", async () => {
  const first = await openPuppet({ rules: RULES });
  const got = join(first.workspace, "got.txt");
  const id = await first.begin([confidant(got)]);
  await first.play(id, show);
  await first.hosting.close();

  const second = await openPuppetIn(first);
  await second.play(id, show);
  expect(await readFile(got, "utf8")).toBe(started.repeat(2));
  await second.hosting.close();

  const database = new DatabaseSync(join(first.home, "reins.db"));
  database.exec("UPDATE sessions SET body = json_set(body, '$.sealed_servers', 'v1.0badc0de.AAAA')");
  database.close();
  const third = await openPuppetIn(first);
  expect(await third.hosting.hub.list(first.harness.identity.local())).toMatchObject([{ id }]);
  const taken = third.play(id, show);
  await expect(taken).rejects.toThrow(/cannot be opened, so it is not resumed without them; name them anew/);
  await expect(taken).rejects.toThrow(/sealed with the key 0badc0de/);
  const params = { sessionId: id, cwd: first.workspace, mcpServers: [confidant(got)] };
  await third.client.request("session/load", params);
  await third.play(id, show);
  expect(await readFile(got, "utf8")).toBe(started.repeat(3));
});

test("the MCP servers of a session are sealed with the newest key after a rotation", async () => {
  const folder = await mkdtemp(join(tmpdir(), "sealed-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const store = await openSqlite({ path: join(folder, "reins.db"), tables: [sessionTables] });
  onTestFinished(() => store.close());
  const vault = await Vault.open(join(folder, "keys"));
  const made = { agent: "puppet", principal: ann, channel: "acp", peer: "1", cwd: "/w" };
  const record = newSessionRecord({ ...made, created: new Date(0) });
  const { id, tenant } = record;
  const servers = [confidant("got")];
  const sealed_servers = sealServers(vault, id, servers);
  await store.commit([change(sessionTables, "put", { ...record, sealed_servers })]);

  const key = await Vault.rotate(join(folder, "keys"));
  const renewed = await Vault.open(join(folder, "keys"));
  const errors: unknown[] = [];
  await renewSessionSeals({ store, vault: renewed, onError: (error) => errors.push(error) });
  expect([errors, renewed.formerKeys]).toEqual([[], []]);
  const anew = await store.query(sessionTables, "get", { id, tenant });
  expect(anew?.sealed_servers).toContain(`v1.${key}.`);
  expect(openServers(renewed, anew!)).toEqual(servers);
  const bytes = readdirSync(folder, { withFileTypes: true })
    .filter((file) => file.isFile())
    .map(({ name }) => readFileSync(join(folder, name), "latin1"))
    .join("\n");
  expect(bytes).not.toContain(TOKEN);
  expect(bytes).not.toContain(sealed_servers);
});
