import { truncate } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { rejectionOf } from "../../test/rejection.ts";
import { scratchFolder } from "../../test/scratch-folder.ts";
import { canonicalJson } from "../canonical.ts";
import { machineDisk } from "../disk.ts";
import { ArtifactStore } from "./artifact-store.ts";
import { type PayloadPath, privateReference, referenceIn, reveal, withhold } from "./private-payload.ts";

const nothing = () => false;
const isSecret = (_: unknown, path: PayloadPath) => path.at(-1) === "secret";

async function artifactStore() {
  const path = join(await scratchFolder(), "artifacts");
  return { path, store: new ArtifactStore(path) };
}

describe("withholding", () => {
  it("leaves references where private content was, and nothing of the content", async () => {
    const { store } = await artifactStore();
    const payload = { tool: "fs", secret: "hunter2", items: [{ secret: { deep: [1, null] } }, "public"] };
    const withheld = await withhold(store, payload, isSecret);
    const [first, second] = withheld.artifacts;
    expect(withheld.payload).toEqual({
      tool: "fs",
      secret: { $private: first },
      items: [{ secret: { $private: second } }, "public"],
    });
    expect(first).toEqual({ digest: expect.stringMatching(/^[0-9a-f]{64}$/), size: '"hunter2"'.length });
    expect(canonicalJson(withheld.payload)).not.toContain("hunter2");
    expect(Buffer.from((await store.get(second!.digest))!).toString()).toBe('{"deep":[1,null]}');
    expect(payload.secret).toBe("hunter2");
  });

  it("can take the whole payload", async () => {
    const { store } = await artifactStore();
    const { payload, artifacts } = await withhold(store, "all of it", () => true);
    expect(payload).toEqual(privateReference(artifacts[0]!));
    expect(await reveal(store, payload)).toBe("all of it");
  });

  it("is undone by revealing, whatever the payload and whatever is private", async () => {
    const { store } = await artifactStore();
    const names = fc.constantFrom("a", "b", "$private", "__proto__", "digest", "withheld");
    const { payloads } = fc.letrec((tie) => ({
      payloads: fc.oneof(
        { maxDepth: 3, withCrossShrink: true },
        fc.jsonValue({ maxDepth: 0 }),
        fc.array(tie("payloads"), { maxLength: 3 }),
        fc.dictionary(names, tie("payloads"), { maxKeys: 3, noNullPrototype: true }),
      ),
    }));
    await fc.assert(
      fc.asyncProperty(payloads, fc.integer({ min: 1, max: 5 }), async (payload, every) => {
        let seen = 0;
        const { payload: rest } = await withhold(store, payload, () => {
          seen += 1;
          return seen % every === 0;
        });
        expect(canonicalJson(await reveal(store, rest))).toBe(canonicalJson(payload));
      }),
      { seed: 20_261_115, numRuns: 60 },
    );
  });

  it("keeps a forged reference from reaching another's content", async () => {
    const { store } = await artifactStore();
    const { payload: theirs } = await withhold(store, "their secret", () => true);
    const { payload } = await withhold(store, { claim: theirs }, nothing);
    expect(payload).not.toEqual({ claim: theirs });
    expect(await reveal(store, payload)).toEqual({ claim: theirs });
  });

  it("refuses what is not JSON before anything is kept", async () => {
    const { store } = await artifactStore();
    const cycle: Record<string, unknown> = { secret: 1 };
    cycle.self = cycle;
    for (const payload of [cycle, new Map(), { secret: 1, more: undefined }])
      expect((await rejectionOf(() => withhold(store, payload, isSecret))).code).toBe("invalid");
    expect(await Array.fromAsync(store.list())).toEqual([]);
  });

  it("keeps nothing when it fails halfway", async () => {
    const { path, store } = await artifactStore();
    let files = 0;
    const full = new Error("no space left on device");
    const disk = {
      ...machineDisk,
      create: async (file: string, bytes: Uint8Array) => {
        files += 1;
        if (files === 3) throw full;
        await machineDisk.create(file, bytes);
      },
    };
    const failing = new ArtifactStore(path, { disk });
    await expect(withhold(failing, [1, 2, 3, 4], (value) => typeof value === "number")).rejects.toBe(full);
    expect(await Array.fromAsync(store.list())).toEqual([]);
  });
});

describe("revealing", () => {
  it("marks what was erased as withheld and shows the rest", async () => {
    const { store } = await artifactStore();
    const { payload, artifacts } = await withhold(store, { a: { secret: 1 }, b: { secret: null } }, isSecret);
    await store.erase(artifacts[0]!.digest);
    expect(await reveal(store, payload)).toEqual({
      a: { secret: { $private: artifacts[0], withheld: true } },
      b: { secret: null },
    });
  });

  it("leaves alone what was not kept as JSON", async () => {
    const { store } = await artifactStore();
    const reference = privateReference(await store.put(Buffer.from([0xff, 0xfe, 0x00])));
    expect(await reveal(store, { picture: reference })).toEqual({ picture: reference });
  });

  it("does not look into what it reveals", async () => {
    const { store } = await artifactStore();
    const inner = privateReference(await store.put(Buffer.from('"inner"')));
    const outer = privateReference(await store.put(Buffer.from(JSON.stringify(inner))));
    expect(await reveal(store, outer)).toEqual(inner);
  });

  it("finds damage", async () => {
    const { path, store } = await artifactStore();
    const { payload, artifacts } = await withhold(store, { secret: "hunter2" }, isSecret);
    const { digest, size } = artifacts[0]!;
    const lying = privateReference({ digest, size: size + 1 });
    expect((await rejectionOf(() => reveal(store, lying))).code).toBe("corrupt");
    await truncate(join(path, digest.slice(0, 2), digest), 35);
    expect((await rejectionOf(() => reveal(store, payload))).code).toBe("corrupt");
  });
});

it("only a reference to the letter is one", () => {
  const $private = { digest: "a".repeat(64), size: 3 };
  expect(referenceIn({ $private })).toEqual($private);
  for (const value of [
    null,
    "text",
    [],
    {},
    { $private: null },
    { $private, withheld: true },
    { $private: { ...$private, size: -1 } },
    { $private: { ...$private, size: 1.5 } },
    { $private: { ...$private, digest: "../x" } },
    { $private: { ...$private, more: 1 } },
  ])
    expect(referenceIn(value)).toBeUndefined();
});
