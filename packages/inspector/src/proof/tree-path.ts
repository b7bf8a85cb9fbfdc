/** A node of the tree: which leaves are below it, from the first up to but not with the last. */
export interface TreeNode {
  readonly from: number;
  readonly to: number;
}

/** One step up the tree: the node that is reached, and the one beside the way, whose hash the proof brings along. */
interface TreeStep {
  readonly node: TreeNode;
  readonly sibling: TreeNode & { readonly side: "left" | "right"; readonly hash: string };
}

/** The way from a leaf to the root of an RFC 6962 tree, with the hashes of an inclusion proof put to their places. */
export function treePath(index: number, size: number, hashes: readonly string[]): TreeStep[] {
  const steps: { node: TreeNode; sibling: TreeNode & { side: "left" | "right" } }[] = [];
  let node: TreeNode = { from: 0, to: size };
  while (node.to - node.from > 1) {
    const middle = node.from + largestPowerBelow(node.to - node.from);
    const [left, right] = [
      { from: node.from, to: middle },
      { from: middle, to: node.to },
    ];
    const isLeft = index < middle;
    steps.unshift({ node, sibling: isLeft ? { ...right, side: "right" } : { ...left, side: "left" } });
    node = isLeft ? left : right;
  }
  return steps.map(({ node, sibling }, place) => ({
    node,
    sibling: { ...sibling, hash: hashes[place] ?? "" },
  }));
}

/** The largest power of two that is smaller than a number above one. */
function largestPowerBelow(count: number): number {
  return 2 ** (Math.ceil(Math.log2(count)) - 1);
}

/** How many entries a checkpoint covers, by what is signed and not by what is said beside it. */
export function sizeOf(note: string): number {
  return Number(note.split("\n")[1]);
}

/** The root of the tree that a checkpoint signs, base64. */
export function rootOf(note: string): string {
  return note.split("\n")[2] ?? "";
}
