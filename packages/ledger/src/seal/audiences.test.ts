import { chmod, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { dyingDisk } from "../../test/dying-disk.ts";
import { rejectionOf } from "../../test/rejection.ts";
import { scratchFolder } from "../../test/scratch-folder.ts";
import { KeyFolder } from "../keys/key-folder.ts";
import { Audiences } from "./audiences.ts";
import { openWith, type SealedContext } from "./seal.ts";

const CONTEXT: SealedContext = {
  actor: "agent-7",
  entity_id: "session-1",
  quality: "tool_result",
  target: "fs",
  timestamp: "2026-11-15T05:20:00.000Z",
};

async function audiences() {
  const path = join(await scratchFolder(), "keys");
  return { path, audiences: new Audiences(path) };
}

/** Which of the envelopes a member can open, by their payloads. */
async function readableTo(
  room: Audiences,
  member: string,
  envelopes: Awaited<ReturnType<Audiences["seal"]>>[],
) {
  const opened = await Promise.allSettled(envelopes.map((envelope) => room.open(envelope, CONTEXT, member)));
  for (const result of opened)
    if (result.status === "rejected") expect(result.reason).toMatchObject({ code: "unreadable" });
  return opened.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
}

describe("an audience", () => {
  it("reads what is sealed for it, and no other audience does", async () => {
    const { audiences: room } = await audiences();
    await room.admit("auditors", "ada");
    await room.admit("operators", "bob");
    const envelope = await room.seal({ secret: 1 }, "auditors", CONTEXT);
    expect(envelope.audience_label).toBe("auditors");
    expect(await room.open(envelope, CONTEXT, "ada")).toEqual({ secret: 1 });
    expect((await rejectionOf(() => room.open(envelope, CONTEXT, "bob"))).message).toContain(
      "bob does not hold",
    );
    expect((await rejectionOf(() => room.open(envelope, CONTEXT, "stranger"))).code).toBe("unreadable");
    const relabelled = { ...envelope, audience_label: "operators" };
    expect((await rejectionOf(() => room.open(relabelled, CONTEXT, "bob"))).code).toBe("unreadable");
    for (const audience_label of ["unknown", "", "\ud800"]) {
      const unknown = { ...envelope, audience_label };
      expect((await rejectionOf(() => room.open(unknown, CONTEXT, "ada"))).code).toBe("unreadable");
    }
  });

  it("outlives the process", async () => {
    const { path, audiences: room } = await audiences();
    await room.admit("auditors", "ada");
    const envelope = await room.seal("secret", "auditors", CONTEXT);
    expect(await new Audiences(path).open(envelope, CONTEXT, "ada")).toBe("secret");
  });

  it("must be there before something is sealed for it", async () => {
    const { path, audiences: room } = await audiences();
    const error = await rejectionOf(() => room.seal("secret", "auditers", CONTEXT));
    expect(error).toMatchObject({ code: "not_found", message: expect.stringContaining("auditers") });
    await expect(stat(path)).rejects.toThrow("ENOENT");
  });

  it("shares the key folder, and its care, with the signing keys", async () => {
    const { path, audiences: room } = await audiences();
    const keys = new KeyFolder(path);
    await Promise.all([keys.signer("same name"), room.admit("same name", "ada")]);
    expect(await keys.list()).toHaveLength(1);
    expect(await room.list()).toMatchObject([{ label: "same name", members: ["ada"] }]);
    const [file] = (await readdir(path)).filter((name) => name.startsWith("audience-"));
    expect((await stat(join(path, file!))).mode & 0o777).toBe(0o600);
    await chmod(join(path, file!), 0o640);
    expect((await rejectionOf(() => room.seal("secret", "same name", CONTEXT))).message).toContain(
      "chmod 600",
    );
  });

  it("returns the keys of its members, to read with elsewhere", async () => {
    const { audiences: room } = await audiences();
    await room.admit("auditors", "ada");
    const envelope = await room.seal("secret", "auditors", CONTEXT);
    const [key] = await room.keysOf("auditors", "ada");
    expect(openWith(key!, envelope, CONTEXT)).toBe("secret");
    expect(await room.keysOf("auditors", "bob")).toEqual([]);
    expect(await room.keysOf("unknown", "ada")).toEqual([]);
  });
});

describe("who leaves", () => {
  it("reads what was sealed while they were there, and nothing after; who stays reads it all", async () => {
    const { audiences: room } = await audiences();
    await room.admit("auditors", "ada");
    await room.admit("auditors", "bob", { past: true });
    const before = await room.seal("before", "auditors", CONTEXT);
    await room.depart("auditors", "bob");
    const after = await room.seal("after", "auditors", CONTEXT);
    expect(await readableTo(room, "ada", [before, after])).toEqual(["before", "after"]);
    expect(await readableTo(room, "bob", [before, after])).toEqual(["before"]);
    expect(after.encrypted_key.split(".")[1]).not.toBe(before.encrypted_key.split(".")[1]);
  });

  it("cannot open what came after with any key they had", async () => {
    const { audiences: room } = await audiences();
    await room.admit("auditors", "ada");
    await room.admit("auditors", "bob");
    const taken = await room.keysOf("auditors", "bob");
    await room.depart("auditors", "bob");
    const after = await room.seal("after", "auditors", CONTEXT);
    const keyId = after.encrypted_key.split(".")[1]!;
    for (const key of taken)
      expect((await rejectionOf(() => openWith({ ...key, keyId }, after, CONTEXT))).code).toBe("unreadable");
  });

  it("keeps nothing where the policy says so", async () => {
    const { audiences: room } = await audiences();
    await room.admit("auditors", "bob");
    const before = await room.seal("before", "auditors", CONTEXT);
    await room.depart("auditors", "bob", { past: false });
    expect(await readableTo(room, "bob", [before])).toEqual([]);
    expect(await room.keysOf("auditors", "bob")).toEqual([]);
  });

  it("may lose the past later, and leave twice without harm", async () => {
    const { audiences: room } = await audiences();
    await room.admit("auditors", "bob");
    const before = await room.seal("before", "auditors", CONTEXT);
    await room.depart("auditors", "bob");
    const after = await room.seal("after", "auditors", CONTEXT);
    await room.admit("auditors", "ada");
    await room.depart("auditors", "bob");
    expect((await room.list())[0]!.keyIds).toHaveLength(3);
    expect(await readableTo(room, "bob", [before, after])).toEqual(["before"]);
    await room.depart("auditors", "bob", { past: false });
    expect(await readableTo(room, "bob", [before])).toEqual([]);
  });

  it("and comes back misses what was sealed meanwhile", async () => {
    const { audiences: room } = await audiences();
    await room.admit("auditors", "ada");
    await room.admit("auditors", "bob");
    const envelopes = [await room.seal(1, "auditors", CONTEXT)];
    await room.depart("auditors", "bob");
    envelopes.push(await room.seal(2, "auditors", CONTEXT));
    await room.admit("auditors", "bob");
    envelopes.push(await room.seal(3, "auditors", CONTEXT));
    expect(await readableTo(room, "bob", envelopes)).toEqual([1, 3]);
    expect(await readableTo(room, "ada", envelopes)).toEqual([1, 2, 3]);
    expect((await room.list())[0]!.members.toSorted()).toEqual(["ada", "bob"]);
  });

  it("last leaves an audience that can still be sealed for, and read by who is admitted to its past", async () => {
    const { audiences: room } = await audiences();
    await room.admit("auditors", "ada");
    await room.depart("auditors", "ada");
    const envelope = await room.seal("secret", "auditors", CONTEXT);
    expect(await readableTo(room, "ada", [envelope])).toEqual([]);
    await room.admit("auditors", "bob", { past: true });
    expect(await readableTo(room, "bob", [envelope])).toEqual(["secret"]);
  });

  it("must have been a member", async () => {
    const { audiences: room } = await audiences();
    await room.admit("auditors", "ada");
    expect((await rejectionOf(() => room.depart("auditors", "bob"))).code).toBe("not_found");
    expect((await rejectionOf(() => room.depart("unknown", "ada"))).code).toBe("not_found");
  });
});

describe("who joins", () => {
  it("reads what is sealed from then on, and the past only when given it", async () => {
    const { audiences: room } = await audiences();
    await room.admit("auditors", "ada");
    const before = await room.seal("before", "auditors", CONTEXT);
    await room.admit("auditors", "bob");
    await room.admit("auditors", "cy", { past: true });
    const after = await room.seal("after", "auditors", CONTEXT);
    expect(await readableTo(room, "bob", [before, after])).toEqual(["after"]);
    expect(await readableTo(room, "cy", [before, after])).toEqual(["before", "after"]);
    await room.admit("auditors", "bob", { past: true });
    expect(await readableTo(room, "bob", [before, after])).toEqual(["before", "after"]);
  });

  it("twice is a member once", async () => {
    const { audiences: room } = await audiences();
    await Promise.all(["ada", "ada", "ada"].map((member) => room.admit("auditors", member)));
    expect(await room.list()).toMatchObject([{ members: ["ada"], keyIds: [expect.any(String)] }]);
  });

  it("has a name", async () => {
    const { audiences: room } = await audiences();
    expect((await rejectionOf(() => room.admit("auditors", ""))).code).toBe("invalid");
    expect((await rejectionOf(() => room.admit("", "ada"))).code).toBe("invalid");
  });
});

it("a departure cut short by a crash leaves the audience as it was, or as it is to be", async () => {
  for (let death = 0; ; death += 1) {
    const { path, audiences: room } = await audiences();
    await room.admit("auditors", "ada");
    const before = await room.seal("before", "auditors", CONTEXT);
    const disk = dyingDisk(death);
    const departed = await new Audiences(path, { disk }).depart("auditors", "ada").then(
      () => true,
      () => false,
    );
    const after = await room.seal("after", "auditors", CONTEXT);
    const readable = await readableTo(room, "ada", [before, after]);
    const [{ members, keyIds } = { members: [], keyIds: [] }] = await room.list();
    expect(readable).toEqual(members.length === 1 ? ["before", "after"] : ["before"]);
    expect(keyIds).toHaveLength(members.length === 1 ? 1 : 2);
    if (departed) expect(members).toEqual([]);
    if (!disk.died()) return;
  }
});

it("an audience file that was tampered with is refused", async () => {
  const { path, audiences: room } = await audiences();
  await room.admit("auditors", "ada");
  const file = join(path, (await readdir(path))[0]!);
  const text = await readFile(file, "utf8");
  for (const damaged of [
    text.replace('"from": 0', '"from": 5'),
    text.replace('"auditors"', '"operators"'),
    "{}",
  ]) {
    await writeFile(file, damaged);
    expect((await rejectionOf(() => room.seal("secret", "auditors", CONTEXT))).code).toBe("corrupt");
  }
});
