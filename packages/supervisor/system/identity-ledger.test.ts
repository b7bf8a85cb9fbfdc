import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { buildEntry, type Ledger, verifySignature } from "@reins/ledger";
import { StoreError } from "@reins/store";
import { expect, onTestFinished, test } from "vitest";
import { Identity } from "../src/identity/identity.ts";
import { Home, temporaryFolder } from "../test/identity-home.ts";

async function newHome() {
  const folder = await temporaryFolder();
  const home = await Home.open(folder.path);
  onTestFinished(async () => {
    await home[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
  });
  return { home, folder: folder.path };
}

const ann = {
  id: "ann",
  name: "Ann Very-Private",
  email: "ann@private.example",
  roles: ["admin"],
  scopes: ["a", "b"],
};

/** Does everything once that changes identity, and gives the secrets that came of it. */
async function changeEverything({ identity }: Home): Promise<readonly string[]> {
  await identity.addUser({ ...ann, tenant: "acme" });
  const { id, secret } = await identity.createToken({ user: "ann", tenant: "acme", agents: ["reed"] });
  const principal = await identity.authenticate(secret);
  if (!principal) throw new Error("no principal");
  await identity.setUser({ id: "ann", name: "Ann Other-Name", scopes: ["a"] }, principal);
  const task = "deploy with password=hunter2hunter2";
  const { session_token } = await identity.delegate({
    principal,
    parentSession: "root",
    parentAgent: "reed",
    childAgent: "fern",
    task,
    scopes: ["a", "c"],
  });
  await identity.revokeSession("root", principal);
  await identity.revokeToken(id);
  await identity.removeUser({ id: "ann", tenant: "acme" });
  await identity.removeTenant("acme");
  return [secret, session_token, task, "Very-Private", "Other-Name", "private.example"];
}

test("every change says who made it, for whom, what it was, and is signed by who made it", async () => {
  const { home } = await newHome();
  await changeEverything(home);
  const entries = (await home.ledger.read({ tag: "identity" })).map(({ entry }) => entry);
  const operator = {
    principal: "local",
    kind: "user",
    user: "operator",
    tenant: "default",
    started: "interactive",
  };
  const own = { kind: "user", user: "ann", tenant: "acme", started: "api" };
  expect(entries.map(({ payload }) => payload)).toMatchObject([
    { change: "user_added", tenant: "acme", user: "ann", roles: ["admin"], scopes: ["a", "b"], by: operator },
    { change: "token_created", tenant: "acme", user: "ann", scopes: ["*"], agents: ["reed"], by: operator },
    {
      change: "user_changed",
      changed: ["name", "scopes"],
      before: { scopes: ["a", "b"] },
      scopes: ["a"],
      by: own,
    },
    {
      change: "session_delegated",
      parent: "root",
      chain: ["reed"],
      depth: 1,
      agent: "unverified:fern",
      scopes: ["a"],
      by: own,
    },
    { change: "session_revoked", session: "root", ended: 1, by: own },
    { change: "token_revoked", user: "ann", by: operator },
    { change: "user_removed", user: "ann", by: operator },
    { change: "tenant_removed", tenant: "acme", by: operator },
  ]);
  const keys = new Map<string, { holder: string; publicKey: Buffer }>();
  for (const { entry } of await home.ledger.read({ tag: "key" })) {
    const { key_id, public_key, holder } = entry.payload as {
      key_id: string;
      public_key: string;
      holder: string;
    };
    keys.set(key_id, { holder, publicKey: Buffer.from(public_key, "base64") });
  }
  for (const { cid: _, ...content } of entries) {
    const { quality, actor, tags, proof } = content;
    const { by } = content.payload as { by: { user: string; tenant: string } };
    expect(quality).toBe("policy_change");
    expect(actor).toBe(`user:${by.tenant}/${by.user}`);
    expect(tags).toEqual(["identity", "tenant:acme"]);
    const { body } = buildEntry({ ...content, proof: null });
    const key = proof?.type === "attestation" ? keys.get(proof.key_id) : undefined;
    if (!key || proof?.type !== "attestation") throw new Error("not signed by an announced key");
    expect(key.holder).toBe(actor);
    expect(verifySignature(key.publicKey, Buffer.from(body), Buffer.from(proof.signature, "base64"))).toBe(
      true,
    );
  }
});

test("no secret and nothing private is in the ledger, and no secret anywhere in the folder", async () => {
  const { home, folder } = await newHome();
  const [secret = "", sessionToken = "", ...privately] = await changeEverything(home);
  const ledger = JSON.stringify(await home.ledger.read({ limit: 10_000 }));
  for (const text of [secret.slice(6), sessionToken.slice(6), ...privately])
    expect(ledger).not.toContain(text);
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  const found = files.filter((file) => file.isFile()).map((file) => join(file.parentPath, file.name));
  expect(found.length).toBeGreaterThan(2);
  for (const path of found) {
    const bytes = await readFile(path, "latin1");
    for (const text of [secret.slice(6), sessionToken.slice(6), "hunter2"])
      expect(bytes.includes(text), path).toBe(false);
  }
});

test("a change whose entry cannot be written is not made, and an entry whose change cannot be made is not written", async () => {
  const { home } = await newHome();
  const { identity, ledger, store, clock } = home;
  await identity.addUser(ann);
  let broken = true;
  const failing: Pick<Ledger, "record"> = {
    record: (drafts, options) =>
      broken ? Promise.reject(new StoreError("full", "the disk is full")) : ledger.record(drafts, options),
  };
  const beside = await Identity.open({ store, ledger: failing, clock, staleAfter: 0 });
  await expect(beside.createToken({ user: "ann" })).rejects.toMatchObject({ code: "full" });
  await expect(beside.removeUser({ id: "ann" })).rejects.toMatchObject({ code: "full" });
  expect(await beside.listTokens()).toEqual([]);
  expect((await beside.listUsers()).map(({ id }) => id)).toEqual(["ann", "operator"]);
  broken = false;
  const before = await ledger.size();
  const both = await Promise.allSettled([
    identity.removeUser({ id: "ann" }),
    beside.removeUser({ id: "ann" }),
  ]);
  expect(both.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  const removed = (await ledger.read({ tag: "identity", after: before - 1 })).map(
    ({ entry }) => entry.payload,
  );
  expect(removed).toMatchObject([{ change: "user_removed", user: "ann" }]);
});
