import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { consistencyProof, inclusionProof, treeRoot } from "../test/merkle.ts";
import { leafHash, toHex } from "./bytes.ts";
import { CompactRange, isConsistent, rootFromInclusion } from "./tree.ts";

/** The eight leaves that implementations of Certificate Transparency test with, and the roots of 0 to 8 of them. */
const LEAVES = [
  "",
  "00",
  "10",
  "2021",
  "3031",
  "40414243",
  "5051525354555657",
  "606162636465666768696a6b6c6d6e6f",
].map(hex);
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

describe("the reference tree of RFC 6962", () => {
  it("has the published root at every size", () => {
    const range = new CompactRange();
    const roots = [toHex(range.root())];
    for (const leaf of LEAVES) {
      range.append(leafHash(leaf));
      roots.push(toHex(range.root()));
    }
    expect(roots).toEqual(ROOTS);
  });

  it.each([
    [0, 1, []],
    [
      0,
      8,
      [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
      ],
    ],
    [
      5,
      8,
      [
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
      ],
    ],
    [2, 3, ["fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"]],
    [
      1,
      5,
      [
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
      ],
    ],
  ])("proves leaf %i of %i as published", (index, size, proof) => {
    expect(reached(leafHash(LEAVES[index]!), index, size, proof.map(hex))).toBe(ROOTS[size]);
  });

  it.each([
    [1, 1, []],
    [
      1,
      8,
      [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
      ],
    ],
    [
      6,
      8,
      [
        "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
      ],
    ],
    [
      2,
      5,
      [
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
      ],
    ],
  ])("joins size %i to size %i as published", (earlier, later, proof) => {
    expect(isConsistent(head(earlier), head(later), proof.map(hex))).toBe(true);
    expect(isConsistent(head(earlier), { size: later, root: hex(ROOTS[0]!) }, proof.map(hex))).toBe(false);
  });
});

describe("any tree", () => {
  const tree = fc
    .integer({ min: 1, max: 70 })
    .chain((size) => fc.tuple(fc.constant(contents(size)), fc.nat(size - 1)));

  it("has the root of the definition, and leaves that are proved and no others", () => {
    fc.assert(
      fc.property(tree, fc.nat(), ([leaves, index], pick) => {
        const range = new CompactRange();
        for (const leaf of leaves) range.append(leafHash(leaf));
        const root = toHex(treeRoot(leaves));
        expect(toHex(range.root())).toBe(root);
        const proof = inclusionProof(index, leaves);
        const leaf = leafHash(leaves[index]!);
        expect(reached(leaf, index, leaves.length, proof)).toBe(root);
        expect(reached(leaf, index, leaves.length, [...proof, leaf])).not.toBe(root);
        expect(reached(leaf, index, leaves.length, proof.slice(1))).not.toBe(proof.length === 0 ? "" : root);
        const other = pick % leaves.length;
        if (other !== index) expect(reached(leaf, other, leaves.length, proof)).not.toBe(root);
      }),
    );
  });

  it("extends every earlier size of itself, and nothing else", () => {
    fc.assert(
      fc.property(tree, fc.nat(), ([leaves, index], pick) => {
        const earlier = { size: index + 1, root: treeRoot(leaves.slice(0, index + 1)) };
        const later = { size: leaves.length, root: treeRoot(leaves) };
        const proof = consistencyProof(earlier.size, leaves);
        expect(isConsistent(earlier, later, proof)).toBe(true);
        expect(isConsistent(earlier, later, [...proof, earlier.root])).toBe(false);
        expect(isConsistent({ ...earlier, root: leafHash(later.root) }, later, proof)).toBe(false);
        if (proof.length === 0) return;
        expect(isConsistent(earlier, later, proof.slice(1))).toBe(false);
        const changed = proof.with(pick % proof.length, Buffer.from(leafHash(later.root)));
        expect(isConsistent(earlier, later, changed)).toBe(false);
      }),
    );
  });

  it("has no place outside of itself", () => {
    const [leaf] = contents(1).map(leafHash);
    for (const [index, size] of [
      [1, 1],
      [-1, 1],
      [0, 0],
      [0.5, 2],
    ] as const) {
      expect(rootFromInclusion(leaf!, index, size, [])).toBeUndefined();
    }
    expect(isConsistent({ size: 2, root: leaf! }, { size: 1, root: leaf! }, [])).toBe(false);
    expect(isConsistent({ size: 0, root: treeRoot([]) }, { size: 1, root: leaf! }, [])).toBe(true);
  });
});

function contents(size: number): Uint8Array[] {
  return Array.from({ length: size }, (_, index) => Uint8Array.of(index, size));
}

function head(size: number) {
  return { size, root: hex(ROOTS[size]!) };
}

function reached(leaf: Uint8Array, index: number, size: number, proof: readonly Uint8Array[]): string {
  const root = rootFromInclusion(leaf, index, size, proof);
  return root === undefined ? "none" : toHex(root);
}

function hex(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, "hex"));
}
