import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { consistencyProof, inclusionProof, leafHash, nodeHash, rootOf, Tiles } from "./tree.ts";

/** The leaves and roots that implementations of RFC 6962 are commonly tested with. */
const LEAVES = [
  "",
  "00",
  "10",
  "2021",
  "3031",
  "40414243",
  "5051525354555657",
  "606162636465666768696a6b6c6d6e6f",
];
const ROOTS = [
  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
  "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
  "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
  "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
  "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
  "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
  "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
  "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
  "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
];

function grown(leaves: readonly string[]) {
  const storage = new Map<string, Uint8Array>();
  const tiles = new Tiles({
    read: (height, tile) => storage.get(`${height}/${tile}`),
    write: (height, tile, bytes) => void storage.set(`${height}/${tile}`, bytes),
  });
  for (const leaf of leaves) tiles.append(leafHash(leaf));
  return { tiles, storage, node: (level: number, index: number) => tiles.node(level, index) };
}

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
const cids = (count: number) =>
  Array.from({ length: count }, (_, index) => createHash("sha256").update(String(index)).digest("hex"));

/** The root by the definition, from all the leaves. */
function slowRoot(hashes: readonly Uint8Array[]): Uint8Array {
  const [first] = hashes;
  if (hashes.length <= 1) return first ?? Buffer.alloc(0);
  let split = 1;
  while (split * 2 < hashes.length) split *= 2;
  return nodeHash(slowRoot(hashes.slice(0, split)), slowRoot(hashes.slice(split)));
}

/** Follows an inclusion proof as RFC 9162 §2.1.3.2 describes. */
function rootFromInclusion(
  index: number,
  size: number,
  leaf: Uint8Array,
  proof: readonly Uint8Array[],
): string {
  let [fn, sn, root] = [index, size - 1, leaf];
  for (const hash of proof) {
    if (sn === 0) return "too long";
    if (fn % 2 === 1 || fn === sn) {
      root = nodeHash(hash, root);
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [fn >>> 1, sn >>> 1];
    } else root = nodeHash(root, hash);
    [fn, sn] = [fn >>> 1, sn >>> 1];
  }
  return sn === 0 ? hex(root) : "too short";
}

/** Follows a consistency proof as RFC 9162 §2.1.4.2 describes; returns both roots. */
function rootsFromConsistency(
  first: number,
  second: number,
  firstRoot: Uint8Array,
  proof: readonly Uint8Array[],
) {
  const path = Number.isInteger(Math.log2(first)) ? [firstRoot, ...proof] : [...proof];
  let [fn, sn] = [first - 1, second - 1];
  while (fn % 2 === 1) [fn, sn] = [fn >>> 1, sn >>> 1];
  let [fr, sr] = [path[0]!, path[0]!];
  for (const hash of path.slice(1)) {
    if (fn % 2 === 1 || fn === sn) {
      [fr, sr] = [nodeHash(hash, fr), nodeHash(hash, sr)];
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [fn >>> 1, sn >>> 1];
    } else sr = nodeHash(sr, hash);
    [fn, sn] = [fn >>> 1, sn >>> 1];
  }
  return { first: hex(fr), second: hex(sr) };
}

describe("the tree", () => {
  test.each([...ROOTS.entries()])("of %i reference leaves has the reference root", (size, root) => {
    const { node } = grown(LEAVES.slice(0, size));
    expect(hex(rootOf(size, node))).toBe(root);
  });

  test("has the same root in tiles as by the definition, at every size around their borders", () => {
    const all = cids(65_800);
    const hashes = all.map(leafHash);
    const { tiles, node } = grown([]);
    const sizes = new Set([1, 2, 255, 256, 257, 511, 512, 513, 1_000, 65_536, 65_793]);
    const roots = new Map([...sizes].map((size) => [size, hex(slowRoot(hashes.slice(0, size)))]));
    for (const hash of hashes) {
      tiles.append(hash);
      if (sizes.has(tiles.size)) expect(hex(rootOf(tiles.size, node))).toBe(roots.get(tiles.size));
    }
    for (const size of sizes) expect(hex(rootOf(size, node))).toBe(roots.get(size));
  });

  test.each([0, 1, 255, 256, 257, 65_536, 65_793])(
    "of %i leaves is the same after it was read again",
    (size) => {
      const all = cids(size + 300);
      const { tiles, storage } = grown(all.slice(0, size));
      const again = new Tiles({
        read: (height, tile) => storage.get(`${height}/${tile}`),
        write: (height, tile, bytes) => void storage.set(`${height}/${tile}`, bytes),
      });
      again.restore(size, (index) => leafHash(all[index]!));
      for (const cid of all.slice(size)) {
        tiles.append(leafHash(cid));
        again.append(leafHash(cid));
      }
      const root = (one: Tiles) => hex(rootOf(one.size, (level, index) => one.node(level, index)));
      expect(root(again)).toBe(root(tiles));
    },
  );
});

describe("proofs", () => {
  const all = cids(1_500);
  const { node } = grown(all);

  test("of inclusion lead to the root from every leaf", () => {
    for (let size = 1; size <= 40; size += 1) {
      for (let index = 0; index < size; index += 1) {
        const proof = inclusionProof(index, size, node);
        expect(rootFromInclusion(index, size, leafHash(all[index]!), proof)).toBe(hex(rootOf(size, node)));
      }
    }
  });

  test("of inclusion and consistency hold at any size", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_500 }), fc.nat(), fc.nat(), (size, anyLeaf, anyEarlier) => {
        const index = anyLeaf % size;
        const inclusion = inclusionProof(index, size, node);
        expect(rootFromInclusion(index, size, leafHash(all[index]!), inclusion)).toBe(
          hex(rootOf(size, node)),
        );
        const earlier = 1 + (anyEarlier % size);
        if (earlier === size) return;
        const proof = consistencyProof(earlier, size, node);
        const roots = rootsFromConsistency(earlier, size, rootOf(earlier, node), proof);
        expect(roots).toEqual({ first: hex(rootOf(earlier, node)), second: hex(rootOf(size, node)) });
      }),
    );
  });

  test("a tree is consistent with itself and with nothing, without saying so", () => {
    expect(consistencyProof(9, 9, node)).toEqual([]);
    expect(consistencyProof(0, 9, node)).toEqual([]);
  });

  test("of what is not there are refused", () => {
    expect(() => inclusionProof(5, 5, node)).toThrow("there is no leaf 5 in a tree of 5");
    expect(() => consistencyProof(6, 5, node)).toThrow("does not extend");
  });
});
