import { describe, expect, test } from "vitest";
import { Events } from "./fixtures/events.ts";
import { harnessForAll, Served } from "./fixtures/home.ts";

const harness = harnessForAll();

async function entriesOf(served: Served, query: string, as?: string) {
  const { status, body } = await served.ask("GET", `/v1/ledger${query}`, { as });
  return { status, next: Object(body).next, entries: Object(body).entries ?? [] };
}

describe("the ledger", () => {
  test("is read in pages without gap or repeat", async () => {
    const served = await Served.open(harness());
    for (const session of ["a", "b", "c"]) await served.question(session);
    const all = await entriesOf(served, "?order=oldest&limit=500");
    expect(all.next).toBeUndefined();
    const seen: unknown[] = [];
    for (let after = ""; ; ) {
      const page = await entriesOf(served, `?order=oldest&limit=3${after}`);
      seen.push(...page.entries);
      if (page.next === undefined) break;
      after = `&after=${page.next}`;
    }
    expect(seen).toEqual(all.entries);
    expect((await entriesOf(served, "?limit=1")).entries).toEqual([all.entries.at(-1)]);
  });

  test("is filtered by session, quality, agent, tag and time", async () => {
    const served = await Served.open(harness());
    await served.question("filtered");
    const verdicts = await entriesOf(
      served,
      "?session=coder:ahp:filtered&quality=policy_verdict&agent=coder&tag=ask",
    );
    expect(verdicts.entries).toHaveLength(1);
    expect(verdicts.entries[0].entry).toMatchObject({ entity_id: "coder:ahp:filtered", actor: "coder" });
    expect((await entriesOf(served, "?since=2999-01-01T00:00:00%2B02:00")).entries).toEqual([]);
    expect((await entriesOf(served, "?since=soon")).status).toBe(400);
    expect((await entriesOf(served, "?quality=none")).status).toBe(400);
  });

  test("streams every entry as it is written, with event ids to resume from", async () => {
    const served = await Served.open(harness());
    const path = "/v1/ledger/stream?quality=approval";
    const events = await Events.open(served, {}, undefined, path);
    await events.next();
    await served.question("live");
    const first = await events.next();
    expect(first).toMatchObject({ event: "entry", data: { entry: { quality: "approval" } } });
    await served.question("later");
    const again = await Events.open(served, { "last-event-id": String(first?.id) }, undefined, path);
    await again.next();
    expect(await again.next()).toMatchObject({ data: { entry: { entity_id: "coder:ahp:later" } } });
  });

  test("is pulled as audit records from a cursor on, by each tenant its own", async () => {
    const served = await Served.open(harness());
    const acme = await served.person({ tenant: "acme", roles: ["admin"] });
    const plain = await served.person();
    await harness().policies.refresh();
    for (const session of ["one", "two"]) await served.question(session);
    await served.question("theirs", "acme");
    const pull = async (query: string, as?: string) => {
      const { status, text } = await served.ask("GET", `/v1/audit${query}`, { as });
      const lines = text.split("\n").filter((line) => line !== "");
      return { status, records: status === 200 ? lines.map((line) => JSON.parse(line)) : [] };
    };
    const { entries } = await entriesOf(served, "?order=oldest&limit=500");
    const seen: { seq: number; cursor: string; entry: unknown }[] = [];
    for (let pages = 0; pages <= entries.length; pages += 1) {
      const cursor = seen.at(-1)?.cursor;
      const { records } = await pull(`?limit=3${cursor ? `&cursor=${cursor}` : ""}`);
      if (records.length === 0) break;
      seen.push(...records);
    }
    expect(seen.map(({ seq, entry }) => ({ seq, entry }))).toEqual(entries);
    const { records: events } = await pull("?format=ocsf", acme.secret);
    expect(events.length).toBeGreaterThan(0);
    expect(new Set(events.map(({ metadata }) => metadata.tenant_uid))).toEqual(new Set(["acme"]));
    expect((await pull("", plain.secret)).status).toBe(403);
    expect((await pull("?cursor=nonsense")).status).toBe(400);
    expect((await pull(`?cursor=0.${"0".repeat(64)}`)).status).toBe(409);
    expect((await pull("?cursor=999999999")).status).toBe(409);
    expect((await pull("?format=xml")).status).toBe(400);
  });

  test("shows admins the entries of their tenant, and other users none", async () => {
    const served = await Served.open(harness());
    const acme = await served.person({ tenant: "acme", roles: ["admin"] });
    const own = await served.person({ roles: ["admin"] });
    const plain = await served.person();
    await harness().policies.refresh();
    await served.question("ours");
    await served.question("theirs", "acme");
    const entities = async (as: string | undefined) => {
      const { entries } = await entriesOf(served, "?limit=500", as);
      return new Set<string>(
        entries.map((placed: { entry: { entity_id: string } }) => placed.entry.entity_id),
      );
    };
    expect([...(await entities(acme.secret))]).toEqual(["acme/coder:ahp:theirs"]);
    const seen = await entities(own.secret);
    expect([seen.has("coder:ahp:ours"), seen.has("acme/coder:ahp:theirs")]).toEqual([true, false]);
    expect((await entities(undefined)).has("acme/coder:ahp:theirs")).toBe(true);
    expect((await entriesOf(served, "", plain.secret)).status).toBe(403);

    const { entries } = await entriesOf(served, "?session=coder:ahp:ours&limit=1");
    const { cid } = entries[0].entry;
    for (const path of [`/v1/ledger/entries/${cid}`, `/v1/ledger/entries/${cid}/proof`])
      expect((await served.ask("GET", path, { as: acme.secret })).status).toBe(404);
    expect((await served.ask("GET", "/v1/ledger/export", { as: acme.secret })).status).toBe(403);
    expect((await served.ask("GET", "/v1/ledger/checkpoint", { as: plain.secret })).status).toBe(200);
  });

  test("shows the entries of a removed tenant to the operator alone", async () => {
    const served = await Served.open(harness());
    await served.person({ tenant: "gone" });
    const own = await served.person({ roles: ["admin"] });
    await harness().policies.refresh();
    await served.question("left", "gone");
    await harness().identity.removeTenant("gone");
    const left = async (as?: string) =>
      (await entriesOf(served, "?limit=500", as)).entries.filter(
        ({ entry }: { entry: { entity_id: string } }) => entry.entity_id === "gone/coder:ahp:left",
      );
    const all = await left();
    expect(all.map(({ entry }: { entry: { quality: string } }) => entry.quality)).toContain("approval");
    expect(await left(own.secret)).toEqual([]);
    for (const { entry } of all)
      expect((await served.ask("GET", `/v1/ledger/entries/${entry.cid}`, { as: own.secret })).status).toBe(
        404,
      );
  });

  test("ends the stream of a user who is no longer an admin", async () => {
    const served = await Served.open(harness());
    const { secret } = await served.person({ roles: ["admin"] });
    const { user } = Object((await harness().identity.authenticate(secret)) ?? {});
    const events = await Events.open(served, {}, secret, "/v1/ledger/stream");
    await events.next();
    await harness().identity.setUser({ id: user, roles: [] });
    await served.question("secret");
    // The change itself may still be sent: it is recorded before it takes effect.
    const entities: string[] = [];
    for (let event = await events.next(); event !== undefined; event = await events.next())
      entities.push(Object(event.data).entry.entity_id);
    expect(entities).not.toContain("coder:ahp:secret");
  });

  test("hides the entries of a new tenant from the default tenant", async () => {
    const served = await Served.open(harness());
    const { secret } = await served.person({ roles: ["admin"] });
    const events = await Events.open(served, {}, secret, "/v1/ledger/stream");
    await events.next();
    await served.person({ tenant: "newcomer" });
    await harness().policies.refresh();
    await served.question("theirs", "newcomer");
    const before = await entriesOf(served, "?session=newcomer/coder:ahp:theirs");
    expect(before.entries.length).toBeGreaterThan(0);
    await served.question("ours again");
    const entities: string[] = [];
    while (entities.at(-1) !== "coder:ahp:ours again")
      entities.push(Object((await events.next())?.data).entry.entity_id);
    expect(entities.filter((entity) => entity.startsWith("newcomer/"))).toEqual([]);
  });

  test("rejects a consistency proof from a size that it does not have", async () => {
    const served = await Served.open(harness());
    expect(await served.ask("GET", "/v1/ledger/consistency?from=999999")).toMatchObject({ status: 409 });
  });

  test("is exported completely, line by line", async () => {
    const served = await Served.open(harness());
    const { status, text, headers } = await served.ask("GET", "/v1/ledger/export");
    expect([status, headers["content-type"]]).toEqual([200, "application/x-ndjson"]);
    const lines = text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines[0]).toMatchObject({ kind: "header", format: "reins-ledger/1" });
    expect(lines.at(-1)).toEqual({ kind: "end", size: lines[0].size });
  });
});
